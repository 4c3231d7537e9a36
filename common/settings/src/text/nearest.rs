//! The nearest valid word to one that is not.
//! A word and the valid words come in, a hint goes out.
//! Counts insertions, deletions, replacements and transpositions (optimal string alignment).

/// Says `did you mean …?`, or lists the valid words after `all`.
pub(crate) fn hint<'w>(word: &str, valid: impl IntoIterator<Item = &'w str>, all: &str) -> String {
    let valid: Vec<&str> = valid.into_iter().collect();
    match nearest(word, &valid) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{all}: {}", valid.join(", ")),
    }
}

fn nearest<'w>(word: &str, valid: &[&'w str]) -> Option<&'w str> {
    let lower = word.to_lowercase().replace('_', "-");
    let distance = |candidate: &str| strsim::osa_distance(&lower, &candidate.to_lowercase().replace('_', "-"));
    let (near, distance) = valid.iter().map(|v| (*v, distance(v))).min_by_key(|(_, distance)| *distance)?;
    (distance <= (near.chars().count() / 3).clamp(1, 3)).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposition_is_one_step() {
        assert_eq!(hint("brigde", ["bridge", "token", "inline"], "values"), "did you mean `bridge`?");
        assert_eq!(hint("idnetity", ["identity", "issuer"], "keys"), "did you mean `identity`?");
    }

    #[test]
    fn case_and_underscores_cost_nothing() {
        assert_eq!(hint("Vault_PKI", ["vault-pki", "oidc"], "kinds"), "did you mean `vault-pki`?");
    }

    #[test]
    fn short_words_have_to_be_nearer() {
        assert_eq!(hint("port", ["host", "agent"], "tables"), "tables: host, agent");
        assert_eq!(hint("hots", ["host", "agent"], "tables"), "did you mean `host`?");
    }

    #[test]
    fn a_far_word_gets_the_list() {
        assert_eq!(hint("zebra", ["bridge", "token"], "values"), "values: bridge, token");
    }
}
