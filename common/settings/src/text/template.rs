//! Templates over an identity's claims: `{email}` or `{unverified email}`, with `{{` and `}}` for braces.
//! Text comes in, literal parts and claim names go out.
//! Fills nothing in: the issuers have the claims.

/// Is a piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Text that stands for itself.
    Literal(String),
    /// The name of a claim whose value stands here.
    Claim(String),
    /// The same, also if the issuer says that it has not verified the value.
    Unverified(String),
}

/// Says why a text is no template, and at which character (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateError {
    /// A `{` without its `}`.
    Unclosed(usize),
    /// A `}` without its `{`.
    Unopened(usize),
    /// `{}`, or a brace or blank inside the name.
    ClaimName(usize),
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unclosed(at) => write!(f, "a `{{` without `}}` at character {at}"),
            Self::Unopened(at) => write!(f, "a `}}` without `{{` at character {at}"),
            Self::ClaimName(at) => write!(f, "braces without a plain claim name at character {at}"),
        }
    }
}

impl std::error::Error for TemplateError {}

/// Splits a template into its parts.
///
/// # Errors
/// The first place that is neither text nor a claim.
pub fn template_parts(template: &str) -> Result<Vec<TemplatePart>, TemplateError> {
    let (mut parts, mut literal) = (Vec::new(), String::new());
    let mut characters = template.chars().enumerate().map(|(at, c)| (at + 1, c)).peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '{' | '}' if characters.next_if(|(_, next)| *next == c).is_some() => literal.push(c),
            '{' => {
                push_literal(&mut parts, &mut literal);
                parts.push(part(claim(at, &mut characters)?).ok_or(TemplateError::ClaimName(at))?);
            }
            '}' => return Err(TemplateError::Unopened(at)),
            _ => literal.push(c),
        }
    }
    push_literal(&mut parts, &mut literal);
    Ok(parts)
}

fn push_literal(parts: &mut Vec<TemplatePart>, literal: &mut String) {
    if !literal.is_empty() {
        parts.push(TemplatePart::Literal(std::mem::take(literal)));
    }
}

/// Tells the two kinds of claims apart; no name has a blank in it.
fn part(inside: String) -> Option<TemplatePart> {
    match inside.split_once(' ') {
        None => Some(TemplatePart::Claim(inside)),
        Some(("unverified", name)) if !name.is_empty() && !name.contains(' ') => {
            Some(TemplatePart::Unverified(name.to_owned()))
        }
        Some(_) => None,
    }
}

fn claim(start: usize, characters: &mut impl Iterator<Item = (usize, char)>) -> Result<String, TemplateError> {
    let mut name = String::new();
    for (_, c) in characters {
        match c {
            '}' if name.is_empty() => return Err(TemplateError::ClaimName(start)),
            '}' => return Ok(name),
            '{' => return Err(TemplateError::Unclosed(start)),
            c if (c.is_whitespace() && c != ' ') || c.is_control() => return Err(TemplateError::ClaimName(start)),
            c => name.push(c),
        }
    }
    Err(TemplateError::Unclosed(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> TemplatePart {
        TemplatePart::Literal(text.to_owned())
    }

    fn claim(name: &str) -> TemplatePart {
        TemplatePart::Claim(name.to_owned())
    }

    #[test]
    fn text_and_claims_alternate() {
        assert_eq!(
            template_parts("{sub}@{realm}.example"),
            Ok(vec![claim("sub"), literal("@"), claim("realm"), literal(".example")])
        );
        assert_eq!(template_parts("plain"), Ok(vec![literal("plain")]));
        assert_eq!(template_parts(""), Ok(vec![]));
    }

    #[test]
    fn claim_names_may_be_uris() {
        assert_eq!(template_parts("{https://corp.example/team}"), Ok(vec![claim("https://corp.example/team")]));
    }

    #[test]
    fn doubled_braces_stand_for_themselves() {
        assert_eq!(template_parts("{{x}}{y}"), Ok(vec![literal("{x}"), claim("y")]));
    }

    #[test]
    fn broken_braces_are_told_by_position() {
        assert_eq!(template_parts("a{b"), Err(TemplateError::Unclosed(2)));
        assert_eq!(template_parts("a{b{c}"), Err(TemplateError::Unclosed(2)));
        assert_eq!(template_parts("ä}b"), Err(TemplateError::Unopened(2)));
        assert_eq!(template_parts("{}"), Err(TemplateError::ClaimName(1)));
        for odd in ["{a b}", "{ a}", "{a }", "{unverified }", "{unverified a b}", "{unverified\ta}", "{ }"] {
            assert_eq!(template_parts(odd), Err(TemplateError::ClaimName(1)), "{odd}");
        }
    }

    #[test]
    fn an_unverified_claim_is_said_to_be_one() {
        assert_eq!(template_parts("{unverified email}"), Ok(vec![TemplatePart::Unverified("email".to_owned())]));
        assert_eq!(template_parts("{unverified}"), Ok(vec![claim("unverified")]));
    }
}
