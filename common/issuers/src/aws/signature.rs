//! Signs a form that is posted to AWS: Signature Version 4.
//! Header fields, a body and keys come in, the value of `Authorization` goes out.
//! By hand, because it is one shape of request: `aws-sigv4` brings thirty crates, and keeps keys in types of its own.
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use std::fmt::Write as _;

use aws_lc_rs::{digest, hmac};
use credmint_vocabulary::Timestamp;

use crate::access_keys::AccessKeys;

/// Says where a signature counts.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// `eu-central-1`.
    pub(crate) region: &'a str,
    /// `sts`.
    pub(crate) service: &'a str,
    /// When it is made.
    pub(crate) now: Timestamp,
}

impl Scope<'_> {
    /// Writes the time without separators: the value of `X-Amz-Date`.
    pub(crate) fn time(&self) -> String {
        self.now.to_string().chars().filter(|c| !"-:".contains(*c)).collect()
    }

    fn date(&self) -> String {
        self.time().chars().take_while(|c| *c != 'T').collect()
    }

    fn words(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date(), self.region, self.service)
    }
}

/// Signs a request without a query; the header fields are in lower case and sorted, with `x-amz-date` among them.
pub(crate) fn authorization(
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
    keys: &AccessKeys,
    scope: Scope<'_>,
) -> String {
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let canonical = canonical((method, path), headers, &names, body);
    let words = scope.words();
    let to_sign = format!("{ALGORITHM}\n{}\n{words}\n{}", scope.time(), hash(canonical.as_bytes()));
    let signature = hex(hmac::sign(&signing_key(keys, scope), to_sign.as_bytes()).as_ref());
    let id = &keys.access_key_id;
    format!("{ALGORITHM} Credential={id}/{words}, SignedHeaders={names}, Signature={signature}")
}

/// Writes the request in the one way that both sides agree on.
fn canonical((method, path): (&str, &str), headers: &[(&str, &str)], names: &str, body: &[u8]) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(lines, "{name}:{value}");
    }
    format!("{method}\n{path}\n\n{lines}\n{names}\n{}", hash(body))
}

/// Derives the key of the day, the region and the service.
fn signing_key(keys: &AccessKeys, scope: Scope<'_>) -> hmac::Key {
    let secret = zeroize::Zeroizing::new(format!("AWS4{}", keys.secret_access_key.expose()));
    let first = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let steps = [scope.date(), scope.region.to_owned(), scope.service.to_owned(), "aws4_request".to_owned()];
    let derive =
        |key: hmac::Key, step: String| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, step.as_bytes()).as_ref());
    steps.into_iter().fold(first, derive)
}

fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_vocabulary::Secret;

    /// What AWS's published test suite for Signature Version 4 signs with.
    fn signed(method: &str, headers: &[(&str, &str)], body: &str) -> String {
        let keys = AccessKeys {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: Secret::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: Secret::from("unused"),
            account_id: None,
            expires: Timestamp::from_unix(0),
        };
        let now = Timestamp::from_rfc3339("2015-08-30T12:36:00Z").unwrap();
        let scope = Scope { region: "us-east-1", service: "service", now };
        assert_eq!(scope.time(), "20150830T123600Z");
        let authorization = authorization((method, "/"), headers, body.as_bytes(), &keys, scope);
        let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=";
        authorization.strip_prefix(start).unwrap().to_owned()
    }

    #[test]
    fn a_session_is_signed_as_botocore_signs_it() {
        let keys = AccessKeys {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: Secret::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: Secret::from("session/of+a=="),
            account_id: None,
            expires: Timestamp::from_unix(0),
        };
        let now = Timestamp::from_rfc3339("2015-08-30T12:36:00Z").unwrap();
        let scope = Scope { region: "eu-central-1", service: "sts", now };
        let body = "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Flast\
                    &RoleSessionName=ada%40corp.example&DurationSeconds=900";
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("host", "sts.eu-central-1.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
            ("x-amz-security-token", "session/of+a=="),
        ];
        let authorization = authorization(("POST", "/"), &headers, body.as_bytes(), &keys, scope);
        // botocore 1.43.11, SigV4Auth.
        let signature = "183ee2975c922469f2ef858c3f7289306e817f9814d0b960b6fe318e07380aa5";
        assert_eq!(authorization.rsplit_once('=').map(|(_, last)| last), Some(signature));
    }

    const HOST: (&str, &str) = ("host", "example.amazonaws.com");
    const DATE: (&str, &str) = ("x-amz-date", "20150830T123600Z");

    #[test]
    fn the_vectors_of_the_published_suite_are_met() {
        let form = ("content-type", "application/x-www-form-urlencoded");
        assert_eq!(
            signed("GET", &[HOST, DATE], ""),
            "host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            "get-vanilla"
        );
        assert_eq!(
            signed("POST", &[HOST, DATE], ""),
            "host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            "post-vanilla"
        );
        assert_eq!(
            signed("GET", &[HOST, ("my-header1", " value1"), ("my-header2", "\"a   b   c\""), DATE], ""),
            "host;my-header1;my-header2;x-amz-date, \
             Signature=acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            "get-header-value-trim"
        );
        assert_eq!(
            signed("POST", &[form, HOST, DATE], "Param1=value1"),
            "content-type;host;x-amz-date, \
             Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            "post-x-www-form-urlencoded"
        );
    }
}
