//! An account of Google's libraries (`external_account`) whose subject token is asked for at an address, or of a program.
//! A pool's provider and one of these come in, one JSON object goes out; in memory that is wiped where a token is in it.
//! Pure. <https://google.aip.dev/auth/4117>

use credmint_vocabulary::Secret;
use serde::Serialize;

use crate::answer::{AnswerError, line, written};
use crate::id_token;

/// Says what the libraries exchange, and where.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Account<'a> {
    /// Full name of the pool's provider.
    pub audience: &'a str,
    /// What the token is called there.
    pub subject_token_type: &'a str,
    /// Where it is exchanged.
    pub token_url: &'a str,
    /// Where it is exchanged again, for the token of a service account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_impersonation_url: Option<&'a str>,
    /// How long that is to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_impersonation: Option<Impersonation>,
    /// Whose quota counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workforce_pool_user_project: Option<&'a str>,
}

/// Says how long the token of a service account is to live.
#[derive(Clone, Copy, Serialize)]
pub struct Impersonation {
    /// In seconds.
    pub token_lifetime_seconds: u64,
}

#[derive(Serialize)]
struct Whole<'a, S> {
    r#type: &'static str,
    #[serde(flatten)]
    account: &'a Account<'a>,
    credential_source: S,
}

#[derive(Serialize)]
struct Executable<'a> {
    executable: Command<'a>,
}

/// Without `output_file`, into which the libraries would write the token.
#[derive(Serialize)]
struct Command<'a> {
    command: &'a str,
    timeout_millis: u32,
}

#[derive(Serialize)]
struct Source<'a> {
    url: &'a str,
    headers: Headers<'a>,
    format: Format,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Headers<'a> {
    #[serde(serialize_with = "written")]
    authorization: &'a Secret<String>,
}

#[derive(Serialize)]
struct Format {
    r#type: &'static str,
    subject_token_field_name: &'static str,
}

/// Writes it.
///
/// # Errors
/// [`AnswerError::NotJson`], which does not happen.
pub fn document(account: &Account<'_>, url: &str, token: &Secret<String>) -> Result<Secret<String>, AnswerError> {
    let authorization = Secret::new(format!("Bearer {}", token.expose()));
    let format = Format { r#type: "json", subject_token_field_name: id_token::FIELD };
    let headers = Headers { authorization: &authorization };
    let credential_source = Source { url, headers, format };
    let bytes = line(&Whole { r#type: "external_account", account, credential_source })?;
    std::str::from_utf8(&bytes).map(|text| Secret::from(text.trim_end())).map_err(|_| AnswerError::NotJson)
}

/// Writes one whose token comes from a program: there is no secret in it, and it is in lines, for people read it.
///
/// # Errors
/// [`AnswerError::NotJson`], which does not happen.
pub fn of_program(account: &Account<'_>, command: &str) -> Result<String, AnswerError> {
    let credential_source = Executable { executable: Command { command, timeout_millis: 30_000 } };
    let whole = Whole { r#type: "external_account", account, credential_source };
    serde_json::to_string_pretty(&whole).map(|text| text + "\n").map_err(|_| AnswerError::NotJson)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_find_address_header_and_field() {
        let account = Account {
            audience: "//iam.googleapis.com/x",
            subject_token_type: "jwt",
            token_url: "https://sts.googleapis.com/v1/token",
            service_account_impersonation: Some(Impersonation { token_lifetime_seconds: 900 }),
            ..Account::default()
        };
        let text = document(&account, "http://127.0.0.1:1/x", &Secret::from("word")).expect("written");
        let expected = "{\"type\":\"external_account\",\"audience\":\"//iam.googleapis.com/x\",\"subject_token_type\":\"jwt\",\
             \"token_url\":\"https://sts.googleapis.com/v1/token\",\"service_account_impersonation\":{\"token_lifetime_seconds\":900},\
             \"credential_source\":{\"url\":\"http://127.0.0.1:1/x\",\"headers\":{\"Authorization\":\"Bearer word\"},\
             \"format\":{\"type\":\"json\",\"subject_token_field_name\":\"value\"}}}";
        assert_eq!(text.expose(), expected);
    }
}
