//! Judges a JWT as whoever trusts an issuer does: signature, issuer, audience, end (RFC 7515, RFC 7519).
//!
//! A token comes in, its claims go out, or what is wrong with it. Fetches the keys that the issuer publishes (OpenID Connect Discovery);
//! takes nothing from the programs that it judges.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use crate::encoding::from_base64;
use crate::http::Request;

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NoJwt,
    Issuer,
    Signature,
    Audience,
    Over,
}

/// Judges one.
pub(crate) fn judge(token: &str, issuer: &str, audience: &str, now: u64) -> Result<Value, Fault> {
    let [head, body, signature] = token.split('.').collect::<Vec<_>>()[..] else { return Err(Fault::NoJwt) };
    let json = |part: &str| serde_json::from_slice::<Value>(&from_base64(part)).unwrap_or_default();
    let (header, claims) = (json(head), json(body));
    if claims["iss"] != issuer {
        return Err(Fault::Issuer);
    }
    if !verified(issuer, &header, format!("{head}.{body}").as_bytes(), &from_base64(signature)) {
        return Err(Fault::Signature);
    }
    let said = &claims["aud"];
    if said != audience && said.as_array().is_none_or(|all| all.iter().all(|one| one != audience)) {
        return Err(Fault::Audience);
    }
    if claims["exp"].as_u64().is_none_or(|end| end <= now) {
        return Err(Fault::Over);
    }
    Ok(claims)
}

/// Verifies with the key of that name which the issuer publishes.
fn verified(issuer: &str, header: &Value, signed: &[u8], signature: &[u8]) -> bool {
    let fetch = |url: &str| Request::new("GET", url).send().json();
    let discovered = fetch(&format!("{issuer}/.well-known/openid-configuration"));
    let keys = fetch(discovered["jwks_uri"].as_str().unwrap_or_default());
    let Some(key) = keys["keys"].as_array().and_then(|keys| keys.iter().find(|key| key["kid"] == header["kid"])) else {
        return false;
    };
    let part = |name: &str| from_base64(key[name].as_str().unwrap_or_default());
    match header["alg"].as_str() {
        Some("ES256") => {
            let point = [vec![4], part("x"), part("y")].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
        }
        Some("RS256") => {
            let key = RsaPublicKeyComponents { n: part("n"), e: part("e") };
            key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
        }
        _ => false,
    }
}
