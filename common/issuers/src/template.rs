//! Fills templates like `{email}` from the claims of the subject token.
//! A template and claims come in, names for a certificate go out.
//! Trusts the claims for nothing: the issuer's role decides which names it signs. `{{` and `}}` stand for braces.

use credmint_identities::Claims;
use credmint_settings::{TemplatePart, template_parts};
use credmint_vocabulary::printable;

/// Says why a template cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// No template; the settings refuse it, too.
    #[error("the template `{template}` has {why}; a brace itself is written twice")]
    Malformed {
        /// The template.
        template: String,
        /// What is wrong with it.
        why: credmint_settings::TemplateError,
    },
    /// The token does not have the claim.
    #[error("the token has no claim `{claim}`; it has {}", if there.is_empty() { "none".to_owned() } else { there.join(", ") })]
    Missing {
        /// The claim.
        claim: String,
        /// The claims that there are.
        there: Vec<String>,
    },
    /// There is no token, or it is opaque.
    #[error("the claim `{claim}` cannot be read: {}", if *opaque { "the token is opaque, not a JWT" } else { "there is no token" })]
    NoClaims {
        /// The claim.
        claim: String,
        /// Whether there is a token at all.
        opaque: bool,
    },
    /// An object, or a list where one value is wanted.
    #[error("the claim `{0}` is not a single text or number")]
    NotText(String),
    /// The issuer of the token says that it has not verified the claim.
    #[error("the issuer has not verified the claim `{0}`: it may be somebody else's")]
    Unverified(String),
    /// The value would be no name, or several.
    #[error("the claim `{claim}` has {what}, which no name may have")]
    Unfit {
        /// The claim.
        claim: String,
        /// What it has.
        what: &'static str,
    },
}

/// Says where the claims are, and why not.
#[derive(Clone, Copy)]
pub(crate) enum Known<'a> {
    /// These are they.
    Claims(&'a Claims),
    /// The token is no JWT.
    Opaque,
    /// There is no token.
    Nobody,
}

/// Longest value of a claim that goes into a name.
const LIMIT: usize = 1024;

/// Fills a template with one value.
pub(crate) fn fill(template: &str, known: Known<'_>) -> Result<String, TemplateError> {
    let mut filled = String::new();
    for part in parts(template)? {
        match part {
            TemplatePart::Literal(text) => filled.push_str(&text),
            TemplatePart::Claim(claim) => filled.push_str(&value(&claim, verified(&claim, known)?)?),
            TemplatePart::Unverified(claim) => filled.push_str(&value(&claim, known)?),
        }
    }
    Ok(filled)
}

/// Fills templates for a list of names: one that is exactly one claim gives as many names as the claim has values.
///
/// Vault takes such lists with commas between, so a value with a comma would be two names.
pub(crate) fn fill_list(templates: &[String], known: Known<'_>) -> Result<Vec<String>, TemplateError> {
    let mut names = Vec::new();
    for template in templates {
        match parts(template)?.as_slice() {
            [TemplatePart::Claim(claim)] => names.extend(values(claim, verified(claim, known)?)?),
            [TemplatePart::Unverified(claim)] => names.extend(values(claim, known)?),
            _ => names.push(fill(template, known)?),
        }
        refuse_commas(template, &names)?;
    }
    Ok(names)
}

/// Refuses a claim that the token's issuer calls unverified; an issuer that says nothing of it is believed.
fn verified<'a>(claim: &str, known: Known<'a>) -> Result<Known<'a>, TemplateError> {
    match known {
        Known::Claims(claims) if claims.is_unverified(claim) => Err(TemplateError::Unverified(claim.to_owned())),
        known => Ok(known),
    }
}

fn refuse_commas(template: &str, names: &[String]) -> Result<(), TemplateError> {
    if names.iter().any(|name| name.contains(',')) {
        let claim = printable(template.trim_matches(['{', '}']).trim_start_matches("unverified "), 80);
        return Err(TemplateError::Unfit { claim, what: "a comma" });
    }
    Ok(())
}

fn parts(template: &str) -> Result<Vec<TemplatePart>, TemplateError> {
    template_parts(template).map_err(|why| TemplateError::Malformed { template: printable(template, 80), why })
}

fn value(claim: &str, known: Known<'_>) -> Result<String, TemplateError> {
    let claims = claims_with(claim, known)?;
    checked(claim, claims.text(claim).ok_or_else(|| TemplateError::NotText(claim.to_owned()))?)
}

fn values(claim: &str, known: Known<'_>) -> Result<Vec<String>, TemplateError> {
    let claims = claims_with(claim, known)?;
    let values = claims.texts(claim).ok_or_else(|| TemplateError::NotText(claim.to_owned()))?;
    values.into_iter().map(|value| checked(claim, value)).collect()
}

fn claims_with<'a>(claim: &str, known: Known<'a>) -> Result<&'a Claims, TemplateError> {
    match known {
        Known::Claims(claims) if claims.has(claim) => Ok(claims),
        Known::Claims(claims) => {
            let there = claims.names().take(40).map(|name| printable(name, 40)).collect();
            Err(TemplateError::Missing { claim: claim.to_owned(), there })
        }
        Known::Opaque => Err(TemplateError::NoClaims { claim: claim.to_owned(), opaque: true }),
        Known::Nobody => Err(TemplateError::NoClaims { claim: claim.to_owned(), opaque: false }),
    }
}

fn checked(claim: &str, value: String) -> Result<String, TemplateError> {
    let what = match () {
        () if value.is_empty() => "no value",
        () if value.len() > LIMIT => "more than 1024 bytes",
        () if value.chars().any(char::is_control) => "a control character",
        () if printable(&value, LIMIT) != value => "blanks or reordering characters",
        () => return Ok(value),
    };
    Err(TemplateError::Unfit { claim: claim.to_owned(), what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use credmint_vocabulary::Secret;

    fn claims(json: &str) -> Claims {
        Claims::of(&Secret::new(format!("e30.{}.x", URL_SAFE_NO_PAD.encode(json)))).unwrap()
    }

    fn filled(template: &str, json: &str) -> Result<String, TemplateError> {
        fill(template, Known::Claims(&claims(json)))
    }

    #[test]
    fn claims_stand_in_braces_and_braces_stand_twice() {
        assert_eq!(filled("{email}", r#"{"email":"a@b.c"}"#).unwrap(), "a@b.c");
        assert_eq!(filled("u-{n}.{{x}}.corp", r#"{"n":7}"#).unwrap(), "u-7.{x}.corp");
        for broken in ["{", "a}b", "{a", "{}", "{a{b}}"] {
            assert!(matches!(filled(broken, "{}"), Err(TemplateError::Malformed { .. })), "{broken}");
        }
    }

    #[test]
    fn a_missing_claim_is_told_with_those_that_are_there() {
        let error = filled("{email}", r#"{"sub":"a","iss":"b"}"#).unwrap_err();
        assert_eq!(error.to_string(), "the token has no claim `email`; it has iss, sub");
        let error = fill("{email}", Known::Opaque).unwrap_err();
        assert_eq!(error.to_string(), "the claim `email` cannot be read: the token is opaque, not a JWT");
        assert_eq!(fill("fixed", Known::Nobody).unwrap(), "fixed");
    }

    #[test]
    fn an_address_that_the_issuer_has_not_verified_is_no_name_unless_the_settings_say_so() {
        for json in [r#"{"email":"a@b.c","email_verified":false}"#, r#"{"email":"a@b.c","email_verified":"false"}"#] {
            assert_eq!(filled("{email}", json), Err(TemplateError::Unverified("email".into())), "{json}");
            assert_eq!(filled("{unverified email}", json).as_deref(), Ok("a@b.c"), "{json}");
            let list = |template: &str| fill_list(&[template.to_owned()], Known::Claims(&claims(json)));
            assert!(list("{email}").is_err() && list("{unverified email}").is_ok(), "{json}");
        }
        for json in [r#"{"email":"a@b.c"}"#, r#"{"email":"a@b.c","email_verified":true}"#] {
            assert_eq!(filled("{email}", json).as_deref(), Ok("a@b.c"), "{json}");
        }
    }

    #[test]
    fn values_that_are_no_names_are_refused() {
        for (json, what) in [
            (r#"{"a":"x\ny"}"#, "a control character"),
            (r#"{"a":""}"#, "no value"),
            (r#"{"a":"x\u202ey"}"#, "blanks or reordering characters"),
        ] {
            assert_eq!(filled("{a}", json), Err(TemplateError::Unfit { claim: "a".into(), what }), "{json}");
        }
        assert_eq!(filled("{a}", r#"{"a":{"b":1}}"#), Err(TemplateError::NotText("a".into())));
        assert_eq!(filled("x{a}", r#"{"a":["b","c"]}"#), Err(TemplateError::NotText("a".into())));
    }

    #[test]
    fn a_list_claim_gives_several_names_only_when_it_stands_alone() {
        let claims = claims(r#"{"hosts":["a.example","b.example"],"evil":"a,admin.example"}"#);
        let list = |template: &str| fill_list(&[template.to_owned()], Known::Claims(&claims));
        assert_eq!(list("{hosts}").unwrap(), ["a.example", "b.example"]);
        assert_eq!(list("x-{hosts}"), Err(TemplateError::NotText("hosts".into())));
        assert_eq!(list("{evil}"), Err(TemplateError::Unfit { claim: "evil".into(), what: "a comma" }));
    }
}
