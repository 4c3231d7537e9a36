//! Lengths of time for people.
//! Seconds come in, `47 min` or `2 h 5 min` goes out.
//! Touches nothing.

/// Says how long that is, in the two largest units that matter.
pub(crate) fn words(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn two_units_at_most() {
        let all = [0, 59, 60, 3_599, 3_600, 7_500, 86_400, 97_200].map(words);
        assert_eq!(all, ["0 s", "59 s", "1 min", "59 min", "1 h", "2 h 5 min", "1 d", "1 d 3 h"]);
    }
}
