//! Judges what arrives at the fake of STS: a token of an issuer, or a request that was signed with keys.
//!
//! A form or a request comes in, a refusal in the words of AWS goes out, or what was meant. It rebuilds what was signed from what arrived. It takes nothing from the program that it judges. Signature Version 4; RFC 7515, RFC 7519.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};

use super::{AUDIENCE, Keys, NEXT, REGION, ROLE};
use crate::arrived::Arrived;
use crate::encoding::rfc3339;
use crate::jwt::{self, Fault};

/// Code and message of a refusal.
pub(super) type Refusal = (&'static str, String);

/// Reads a form.
pub(super) fn form(body: &str) -> BTreeMap<String, String> {
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let two = [rest.next().unwrap_or_default(), rest.next().unwrap_or_default()];
                u8::from_str_radix(&String::from_utf8_lossy(&two), 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Judges AssumeRoleWithWebIdentity; gives the life that was asked for.
pub(super) fn web_identity(form: &BTreeMap<String, String>, issuer: &str, now: u64) -> Result<Option<u64>, Refusal> {
    let life = session(form, 43_200)?;
    let token = form.get("WebIdentityToken").map_or("", String::as_str);
    if form.contains_key("ProviderId") {
        return Err(("ValidationError", "a value does not satisfy its constraint".to_owned()));
    }
    if !(4..=20_000).contains(&token.len()) {
        return Err(("ValidationError", "1 validation error detected at 'webIdentityToken'".to_owned()));
    }
    token_fits(token, issuer, now)?;
    if form.get("RoleArn").is_none_or(|role| role != ROLE) {
        return Err(("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity".to_owned()));
    }
    Ok(life)
}

/// Judges AssumeRole by keys of a role: one role may assume one other, for an hour at most.
pub(super) fn next_role(form: &BTreeMap<String, String>, from: &str) -> Result<Option<u64>, Refusal> {
    let life = session(form, 3_600)?;
    match from == ROLE && form.get("RoleArn").is_some_and(|role| role == NEXT) {
        true => Ok(life),
        false => Err(("AccessDenied", "User is not authorized to perform: sts:AssumeRole".to_owned())),
    }
}

/// Judges what the two have in common; gives the life that was asked for.
fn session(form: &BTreeMap<String, String>, longest: u64) -> Result<Option<u64>, Refusal> {
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    let name = field("RoleSessionName");
    let fits =
        (2..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c));
    let life = form.get("DurationSeconds").map(|life| life.parse::<u64>().unwrap_or_default());
    let policy = form.get("Policy").is_none_or(|policy| (1..=2048).contains(&policy.len()));
    if field("Version") != "2011-06-15" {
        return Err(("InvalidAction", "no such version".to_owned()));
    }
    if !fits || life.is_some_and(|life| !(900..=longest).contains(&life)) || !policy {
        return Err(("ValidationError", "a value does not satisfy its constraint".to_owned()));
    }
    Ok(life)
}

/// Verifies a JWT as AWS does, and says what is wrong with it in AWS's words.
fn token_fits(token: &str, issuer: &str, now: u64) -> Result<(), Refusal> {
    let invalid = |why: &str| Err(("InvalidIdentityToken", why.to_owned()));
    match jwt::judge(token, issuer, AUDIENCE, now) {
        Ok(_) => Ok(()),
        Err(Fault::NoJwt) => invalid("The ID Token provided is not a valid JWT"),
        Err(Fault::Issuer) => invalid("No OpenIDConnect provider found in your account for the issuer"),
        Err(Fault::Signature) => invalid("Couldn't verify the signature of the token"),
        Err(Fault::Audience) => invalid("Incorrect token audience"),
        Err(Fault::Over) => {
            let why = "Token expired: current date/time must be before the expiration date/time";
            Err(("ExpiredTokenException", why.to_owned()))
        }
    }
}

/// Finds the keys with which a request was signed, when it was, within five minutes of now.
pub(super) fn signed_by(arrived: &Arrived, handed_out: &[Keys], now: u64) -> Result<Keys, Refusal> {
    let denied = |code: &'static str| (code, "The security token included in the request is invalid".to_owned());
    let header = |name: &str| arrived.headers.get(name).map_or("", String::as_str);
    let text = header("authorization").replace(", ", ",");
    let words: Vec<&str> = text.split([' ', ',']).collect();
    let ["AWS4-HMAC-SHA256", credential, names, signature] = words[..] else {
        return Err(denied("MissingAuthenticationToken"));
    };
    let value = |word: &str, name: &str| word.strip_prefix(name).unwrap_or_default().to_owned();
    let (credential, names) = (value(credential, "Credential="), value(names, "SignedHeaders="));
    let (id, scope) = credential.split_once('/').unwrap_or_default();
    let keys = handed_out.iter().find(|keys| keys.id == id && header("x-amz-security-token") == keys.token);
    let keys = keys.ok_or_else(|| denied("InvalidClientTokenId"))?;
    let time = header("x-amz-date");
    let day = rfc3339(now).replace(['-', ':'], "");
    let minutes =
        |time: &str| time.get(9..13).and_then(|text| text.parse::<u64>().ok()).map(|at| at / 100 * 60 + at % 100);
    if minutes(time)
        .zip(minutes(&day))
        .is_none_or(|(one, other)| (one.abs_diff(other)).min(1_440 - one.abs_diff(other)) > 5)
    {
        return Err(denied("SignatureDoesNotMatch"));
    }
    let date = time.get(..8).unwrap_or_default();
    if scope != format!("{date}/{REGION}/sts/aws4_request") {
        return Err(denied("SignatureDoesNotMatch"));
    }
    if keys.end <= now {
        return Err(("ExpiredToken", "The security token included in the request is expired".to_owned()));
    }
    let canonical = canonical(arrived, &names);
    let signed = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(canonical.as_bytes()));
    let parts = [date, REGION, "sts", "aws4_request", &signed];
    let first = format!("AWS4{}", keys.secret).into_bytes();
    let last =
        parts.iter().fold(first, |key, part| sign(&Key::new(HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec());
    match hex(&last) == value(signature, "Signature=") {
        true => Ok(keys.clone()),
        false => Err(denied("SignatureDoesNotMatch")),
    }
}

fn canonical(arrived: &Arrived, names: &str) -> String {
    let (path, query) = arrived.target.split_once('?').unwrap_or((&arrived.target, ""));
    let mut lines = String::new();
    for name in names.split(';') {
        let value = arrived.headers.get(name).map_or("", String::as_str);
        let _ = writeln!(lines, "{name}:{}", value.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    format!("{}\n{path}\n{query}\n{lines}\n{names}\n{}", arrived.method, hash(&arrived.body))
}

fn hash(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
