//! What a client is answered that asks a CI system for a token: one JSON object with its `value`.
//! A token comes in, bytes go out.
//! Pure. The form is that of GitHub Actions, which the Azure providers ask in, and Google's libraries can be told of.

use credmint_vocabulary::Secret;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, line, written};

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(serialize_with = "written")]
    value: &'a Secret<String>,
}

/// Names the property that has the token.
pub const FIELD: &str = "value";

/// Writes the answer.
///
/// # Errors
/// [`AnswerError`], when there is no token that could be sent on.
pub fn answer(credential: &Credential<'_>) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    line(&Answer { value: credential.bearer()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_in_the_field_that_is_announced() {
        let token = Secret::from("a.b.c");
        let credential = Credential { token: Some(&token), ..Credential::default() };
        let text = answer(&credential).expect("an answer");
        assert_eq!(text.as_slice(), format!("{{\"{FIELD}\":\"a.b.c\"}}\n").as_bytes());
        let empty = Secret::from("");
        assert!(answer(&Credential { token: Some(&empty), ..Credential::default() }).is_err());
        assert!(answer(&Credential::default()).is_err());
    }
}
