//! What a run is about, as its owner says it by `--phase`.
//! The option, and what the command and the environment say, come in; the lesser of them goes out.
//! Pure; the agent never takes it for more than what it sees itself.

use credmint_vocabulary::Phase;

/// Gives the phase of a run: what is said by the option never widens what the command is about.
pub(super) fn of(said: Option<Phase>, seen: Option<String>) -> Option<String> {
    match (said, seen.as_deref().map(Phase::from_word)) {
        (Some(said), Some(Some(seen))) => Some(said.min(seen).to_string()),
        (Some(said), None) => Some(said.to_string()),
        _ => seen,
    }
}

/// Reads the option.
pub(super) fn parse(word: &str) -> Result<Phase, String> {
    Phase::from_word(word).ok_or_else(|| "plan or apply".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_counts_where_nothing_is_seen_and_never_makes_it_more() {
        let of = |said, seen: Option<&str>| of(said, seen.map(str::to_owned));
        assert_eq!(of(Some(Phase::Apply), None).as_deref(), Some("apply"));
        assert_eq!(of(Some(Phase::Apply), Some("plan")).as_deref(), Some("plan"));
        assert_eq!(of(Some(Phase::Plan), Some("apply")).as_deref(), Some("plan"));
        assert_eq!(of(None, Some("apply")).as_deref(), Some("apply"));
    }
}
