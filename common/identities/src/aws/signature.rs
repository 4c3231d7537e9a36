//! Signs a request to AWS: Signature Version 4, with a shared secret or with the key of a certificate.
//! A request and keys come in, the value of `Authorization` goes out.
//! By hand: no crate signs with certificates, and for the other shape `aws-sigv4` brings thirty crates, and keeps keys in types of its own.
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use std::fmt::Write as _;

use aws_lc_rs::{digest, hmac};
use credmint_client_identity::{ClientIdentity, KeyError, Signature};
use credmint_vocabulary::{Secret, Timestamp};

/// Says where a signature counts.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// `eu-central-1`.
    pub region: &'a str,
    /// `sts`.
    pub service: &'a str,
    /// When it is made.
    pub now: Timestamp,
}

impl Scope<'_> {
    /// Writes the time without separators: the value of `X-Amz-Date`.
    #[must_use]
    pub fn time(&self) -> String {
        self.now.to_string().chars().filter(|c| !"-:".contains(*c)).collect()
    }

    fn date(&self) -> String {
        self.time().chars().take_while(|c| *c != 'T').collect()
    }

    fn words(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date(), self.region, self.service)
    }
}

/// Is a request that is to be signed, as both sides write it down.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// `POST`.
    pub method: &'a str,
    /// `/sessions`.
    pub path: &'a str,
    /// Sorted and encoded by [`query`]; may be empty.
    pub query: &'a str,
    /// Header fields in lower case and sorted, with `host` and `x-amz-date` among them.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// Writes the request in the one way that both sides agree on.
    fn canonical(&self) -> String {
        let mut lines = String::new();
        for (name, value) in self.headers {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(lines, "{name}:{value}");
        }
        let Self { method, path, query, body, .. } = self;
        format!("{method}\n{path}\n{query}\n{lines}\n{}\n{}", self.names(), hash(body))
    }

    fn names(&self) -> String {
        self.headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";")
    }

    /// Writes what is signed.
    fn words(&self, algorithm: &str, scope: Scope<'_>) -> String {
        format!("{algorithm}\n{}\n{}\n{}", scope.time(), scope.words(), hash(self.canonical().as_bytes()))
    }

    /// Puts the value of `Authorization` together; `whose` names the key.
    fn header(&self, algorithm: &str, whose: &str, scope: Scope<'_>, signature: &[u8]) -> String {
        let (words, names, signature) = (scope.words(), self.names(), hex(signature));
        format!("{algorithm} Credential={whose}/{words}, SignedHeaders={names}, Signature={signature}")
    }
}

/// Signs a request with a secret that AWS knows, too.
#[must_use]
pub fn authorization(request: &Request<'_>, (id, secret): (&str, &Secret<String>), scope: Scope<'_>) -> String {
    let words = request.words(ALGORITHM, scope);
    let signature = hmac::sign(&signing_key(secret, scope), words.as_bytes());
    request.header(ALGORITHM, id, scope, signature.as_ref())
}

/// Signs a request with the key of a certificate, which is named by its serial number.
///
/// # Errors
/// [`KeyError::NoSignature`] for a key of a kind that AWS does not take.
pub fn with_certificate(
    request: &Request<'_>,
    identity: &ClientIdentity,
    scope: Scope<'_>,
) -> Result<String, KeyError> {
    // What is signed names the algorithm, which is known when something was signed with the key.
    let algorithm = match identity.sign(b"")? {
        Signature::Rsa(_) => "AWS4-X509-RSA-SHA256",
        Signature::Ecdsa(_) => "AWS4-X509-ECDSA-SHA256",
    };
    let (Signature::Rsa(signature) | Signature::Ecdsa(signature)) =
        identity.sign(request.words(algorithm, scope).as_bytes())?;
    Ok(request.header(algorithm, &identity.serial_decimal(), scope, &signature))
}

/// Writes a query in the order of its names, with everything encoded that is not unreserved (RFC 3986 §2.3).
#[must_use]
pub fn query(pairs: &[(&str, &str)]) -> String {
    let mut pairs: Vec<_> = pairs.iter().map(|(name, value)| (encoded(name), encoded(value))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
        text
    })
}

/// Derives the key of the day, the region and the service.
fn signing_key(secret: &Secret<String>, scope: Scope<'_>) -> hmac::Key {
    let secret = zeroize::Zeroizing::new(format!("AWS4{}", secret.expose()));
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

    /// What AWS's published test suite for Signature Version 4 signs with.
    fn signed(method: &str, headers: &[(&str, &str)], body: &str) -> String {
        let secret = Secret::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        let keys = ("AKIDEXAMPLE", &secret);
        let now = Timestamp::from_rfc3339("2015-08-30T12:36:00Z").unwrap();
        let scope = Scope { region: "us-east-1", service: "service", now };
        assert_eq!(scope.time(), "20150830T123600Z");
        let authorization =
            authorization(&Request { method, path: "/", query: "", headers, body: body.as_bytes() }, keys, scope);
        let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=";
        authorization.strip_prefix(start).unwrap().to_owned()
    }

    #[test]
    fn a_session_is_signed_as_botocore_signs_it() {
        let secret = Secret::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        let keys = ("AKIDEXAMPLE", &secret);
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
        let authorization = authorization(
            &Request { method: "POST", path: "/", query: "", headers: &headers, body: body.as_bytes() },
            keys,
            scope,
        );
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
