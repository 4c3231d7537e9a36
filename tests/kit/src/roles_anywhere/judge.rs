//! Judges a CreateSession request as Roles Anywhere does, by the certificate that came with it.
//!
//! A request and a trust anchor come in, a refusal as AWS words it goes out, or nothing. It rebuilds the canonical request from what
//! arrived, verifies the signature with the certificate's key and the path up to the anchor, and compares serial number, scope and
//! time. It takes nothing from the program that it judges. Facts: `provider-credentials.md` §2.5.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What arrived, with header names in lower case.
pub(crate) struct Arrived<'a> {
    /// The method.
    pub(crate) method: &'a str,
    /// Path and query.
    pub(crate) target: &'a str,
    /// The header fields.
    pub(crate) headers: &'a BTreeMap<String, String>,
    /// The body.
    pub(crate) body: &'a [u8],
}

/// Code and message of a refusal.
pub(crate) type Refusal = (&'static str, String);

/// Refuses the request, or finds nothing wrong with it.
///
/// # Errors
/// Why it is refused.
pub(crate) fn judge(arrived: &Arrived<'_>, region: &str, anchor: &[u8], now: i64) -> Result<(), Refusal> {
    let denied = |message: &str| ("AccessDeniedException", message.to_owned());
    let header = |name: &str| arrived.headers.get(name).map_or("", String::as_str);
    let words: Vec<&str> = header("authorization").split([' ', ',', '=']).filter(|word| !word.is_empty()).collect();
    let [algorithm, "Credential", credential, "SignedHeaders", names, "Signature", signature] = words[..] else {
        return Err(denied("Missing Authentication Token"));
    };
    for name in ["content-type", "host", "x-amz-date", "x-amz-x509"] {
        if header(name).is_empty() || !names.split(';').any(|signed| signed == name) {
            return Err(denied(&format!("{name} is not signed")));
        }
    }
    if arrived.headers.contains_key("x-amz-x509-chain") != names.contains("x-amz-x509-chain") {
        return Err(denied("the chain is not signed"));
    }
    let time = header("x-amz-date");
    if unix(time).is_none_or(|signed| signed.abs_diff(now) > 300) {
        return Err(denied("Signature expired"));
    }
    let leaf = STANDARD.decode(header("x-amz-x509")).map_err(|_| denied("Untrusted certificate. No base64"))?;
    let certificate = read(&leaf).ok_or_else(|| denied("Untrusted certificate. Unreadable"))?;
    let scope = format!("{}/{region}/rolesanywhere/aws4_request", &time[..8]);
    if credential != format!("{}/{scope}", certificate.tbs_certificate.serial) {
        return Err(denied("Credential does not match the certificate"));
    }
    let canonical = canonical(arrived, names).ok_or_else(|| denied("a header is missing"))?;
    let signed = format!("{algorithm}\n{time}\n{scope}\n{}", hash(canonical.as_bytes()));
    let good = way(algorithm, &certificate).zip(unhex(signature)).is_some_and(|(way, signature)| {
        let key = certificate.public_key().raw;
        UnparsedPublicKey::new(way, key).verify(signed.as_bytes(), &signature).is_ok()
    });
    if !good {
        return Err(denied("The request signature does not match"));
    }
    trusted(&leaf, header("x-amz-x509-chain"), anchor, now).map_err(|why| denied(&why))
}

fn read(der: &[u8]) -> Option<X509Certificate<'_>> {
    X509Certificate::from_der(der).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, certificate)| certificate)
}

fn way(algorithm: &str, certificate: &X509Certificate<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    let key = &certificate.public_key().algorithm;
    let curve = key.parameters.as_ref().and_then(|any| any.as_oid().ok()).map(|oid| oid.to_id_string());
    match (algorithm, key.algorithm.to_id_string().as_str(), curve.as_deref()) {
        ("AWS4-X509-RSA-SHA256", "1.2.840.113549.1.1.1", _) => Some(&RSA_PKCS1_2048_8192_SHA256),
        ("AWS4-X509-ECDSA-SHA256", "1.2.840.10045.2.1", Some("1.2.840.10045.3.1.7")) => Some(&ECDSA_P256_SHA256_ASN1),
        ("AWS4-X509-ECDSA-SHA256", "1.2.840.10045.2.1", Some("1.3.132.0.34")) => Some(&ECDSA_P384_SHA256_ASN1),
        _ => None,
    }
}

/// Writes the request down anew: query sorted, header values with single blanks.
fn canonical(arrived: &Arrived<'_>, names: &str) -> Option<String> {
    let (path, query) = arrived.target.split_once('?').unwrap_or((arrived.target, ""));
    let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let mut sorted: Vec<&str> = names.split(';').collect();
    sorted.sort_unstable();
    let mut lines = String::new();
    for name in &sorted {
        let value = arrived.headers.get(*name)?.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(lines, "{name}:{value}");
    }
    let Arrived { method, body, .. } = arrived;
    let query = pairs.join("&").replace('+', "%20");
    Some(format!("{method}\n{path}\n{query}\n{lines}\n{}\n{}", sorted.join(";"), hash(body)))
}

/// Goes up from the certificate to the anchor, by signatures.
fn trusted(leaf: &[u8], chain: &str, anchor: &[u8], now: i64) -> Result<(), String> {
    let unreadable = || "Untrusted certificate. Insufficient certificate".to_owned();
    let chain = chain.split(',').filter(|one| !one.is_empty()).map(|one| STANDARD.decode(one));
    let mut chain: Vec<Vec<u8>> = chain.collect::<Result<_, _>>().map_err(|_| unreadable())?;
    let own = read(leaf).ok_or_else(unreadable)?;
    let usage = own.key_usage().ok().flatten().is_some_and(|usage| usage.value.digital_signature());
    if own.is_ca() || !usage {
        return Err("Untrusted certificate. Insufficient certificate".to_owned());
    }
    chain.push(anchor.to_vec());
    let mut below = leaf.to_vec();
    for above in chain {
        let (one, other) = (read(&below).ok_or_else(unreadable)?, read(&above).ok_or_else(unreadable)?);
        let validity = one.validity();
        if now < validity.not_before.timestamp() || now > validity.not_after.timestamp() {
            return Err("Certificate is expired".to_owned());
        }
        let issued = one.issuer().as_raw() == other.subject().as_raw() && other.is_ca();
        if !issued || one.verify_signature(Some(other.public_key())).is_err() {
            return Err("Untrusted signing certificate".to_owned());
        }
        below = above;
    }
    Ok(())
}

/// Reads `20260102T030405Z`.
fn unix(time: &str) -> Option<i64> {
    let digits = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    if time.len() != 16 || time.get(8..9) != Some("T") || !time.ends_with('Z') {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(4, 6)?, digits(6, 8)?);
    // Days since 1970-01-01, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(days * 86_400 + digits(9, 11)? * 3_600 + digits(11, 13)? * 60 + digits(13, 15)?)
}

fn hash(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let lower = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (lower && text.len().is_multiple_of(2))
        .then(|| (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap_or(0)).collect())
}
