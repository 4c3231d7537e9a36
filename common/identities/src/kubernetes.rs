//! `kind = "kubernetes"`: the projected service-account token of the caller's pod.
//! Path and wanted audience come in, the token or its absence goes out.
//! Checks the audience before the token is sent anywhere, and trusts it for nothing.

use crate::ask::IdentityError;
use crate::subject_token::SubjectToken;

/// Refuses a token that was projected for somebody else.
pub(crate) fn check_audience(token: &SubjectToken, wanted: Option<&str>) -> Result<(), IdentityError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let found = token.claims.as_ref().map(crate::Claims::aud).unwrap_or_default();
    if found.iter().any(|audience| audience == wanted) {
        return Ok(());
    }
    Err(IdentityError::WrongAudience { wanted: wanted.to_owned(), found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests::token;

    #[test]
    fn the_audience_is_checked_only_when_one_is_wanted() {
        let token = SubjectToken::new(token(r#"{"aud":["a","b"]}"#)).unwrap();
        assert!(check_audience(&token, None).is_ok() && check_audience(&token, Some("b")).is_ok());
        let error = check_audience(&token, Some("vault")).unwrap_err();
        assert_eq!(error.to_string(), "the token is for \"a\", \"b\" and not for \"vault\"");
    }
}
