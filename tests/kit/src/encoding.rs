//! Base64 (RFC 4648 sections 4 and 5) and times (RFC 3339), by hand, so that the kit shares no code with what it tests.
//!
//! Bytes come in and text goes out, and back. Touches nothing but the clock.

use std::time::{Duration, SystemTime};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes with the standard alphabet and padding.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = (0..3).fold(0_u32, |sum, at| (sum << 8) | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Encodes with the alphabet for URLs and without padding, as JWTs have it.
pub fn base64_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// Decodes either alphabet, with or without padding; line ends are skipped, other bytes end the text.
pub fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut number, mut bits) = (0_u32, 0);
    for letter in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let plain = match letter {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let Some(value) = LETTERS.iter().position(|&one| one == plain) else { break };
        number = (number << 6) | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((number >> bits) as u8);
            number &= (1 << bits) - 1;
        }
    }
    bytes
}

/// Reads the claims of a JWT (RFC 7519) without any verification.
pub fn claims(token: &str) -> serde_json::Value {
    let body = token.split('.').nth(1).expect("a JWT has three parts");
    serde_json::from_slice(&from_base64(body)).expect("the claims of a JWT are JSON")
}

/// Gives the time in seconds since 1970.
pub fn unix_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(Duration::ZERO, |since| since).as_secs()
}

/// Writes a time as `2026-12-01T03:04:05Z`: the days since 1970 become a date, with years that begin in March.
pub fn rfc3339(time: u64) -> String {
    let (days, rest) = (time / 86_400 + 719_468, time % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month > 9 { (year + era * 400 + 1, month - 9) } else { (year + era * 400, month + 3) };
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::{base64, from_base64, rfc3339};

    #[test]
    fn base64_gives_the_vectors_of_rfc_4648_and_takes_them_back() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
            assert_eq!(from_base64(coded), plain.as_bytes());
        }
    }

    #[test]
    fn times_are_written_as_rfc_3339_has_them() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_709_210_096), "2024-02-29T12:34:56Z");
        assert_eq!(rfc3339(1_767_225_599), "2025-12-31T23:59:59Z");
    }
}
