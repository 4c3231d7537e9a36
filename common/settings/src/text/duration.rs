//! Durations as people write them: `1h`, `30m`, `90s`, `1d`, `1h30m`.
//! Text comes in, a length of time or the reason why not goes out.
//! A number without unit is refused: Vault would read it as seconds, a person might not.

use std::time::Duration;

/// Says why a text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoDuration {
    Form,
    WithoutUnit,
    TooLong,
}

/// Reads numbers with units, the larger unit first, each unit once.
pub(crate) fn parse(text: &str) -> Result<Duration, NoDuration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoDuration::WithoutUnit);
    }
    let (mut rest, mut total, mut units) = (text, 0_u64, UNITS.iter());
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at_checked(digits).filter(|(n, _)| !n.is_empty()).ok_or(NoDuration::Form)?;
        let unit = tail.chars().next().ok_or(NoDuration::Form)?;
        let (_, seconds) = units.find(|(name, _)| *name == unit).ok_or(NoDuration::Form)?;
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*seconds));
        total = part.and_then(|part| part.checked_add(total)).ok_or(NoDuration::TooLong)?;
        rest = tail.strip_prefix(unit).unwrap_or_default();
    }
    match total {
        _ if text.is_empty() => Err(NoDuration::Form),
        total if total > LONGEST => Err(NoDuration::TooLong),
        total => Ok(Duration::from_secs(total)),
    }
}

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Ten years: beyond that it is a slip, and far below what the clock's arithmetic can bear.
const LONGEST: u64 = 10 * 366 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_added_up() {
        for (text, seconds) in
            [("1h", 3_600), ("30m", 1_800), ("90s", 90), ("1h30m", 5_400), ("1d", 86_400), ("0s", 0), ("1d1s", 86_401)]
        {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["", "h", "1", "1x", "1h1h", "30m1h", "1 h", "-1h", "1.5h", "1H", "1h5", "1hä"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("3600"), Err(NoDuration::WithoutUnit));
        assert_eq!(parse("99999999999999999999d"), Err(NoDuration::TooLong));
        assert_eq!(parse("9999d"), Err(NoDuration::TooLong));
    }
}
