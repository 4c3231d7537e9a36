//! Checks an ID token (OpenID Connect Core §3.1.3.7), by `openidconnect`: issuer, audience, signature, expiry, nonce.
//! An answer of the token endpoint comes in, tokens whose ID token holds go out.
//! The party that it was issued to and the hash of the access token are checked here; keys are fetched again when one is unknown.

use chrono::{DateTime, Utc};
use credmint_settings::OidcTokenKind;
use openidconnect::core::{CoreIdToken, CoreIdTokenVerifier, CoreTokenResponse};
use openidconnect::{
    AccessTokenHash, ClaimsVerificationError, Nonce, OAuth2TokenResponse as _, SignatureVerificationError,
};

use crate::client_authentication::ClientProof;
use crate::quotable::quotable;
use crate::sign_in::client::Client;
use crate::sign_in::error::SignInError;
use crate::sign_in::metadata;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;
use crate::way::Way;

impl Provider {
    /// Takes over a token answer after its ID token was checked. `nonce` is that of the authorization request, if there was one.
    pub(super) async fn checked(
        &self,
        answer: &CoreTokenResponse,
        nonce: Option<&Nonce>,
        proof: &ClientProof,
        way: &Way<'_>,
    ) -> Result<Tokens, SignInError> {
        match answer.extra_fields().id_token() {
            Some(_) => self.check(answer, nonce, proof, way).await?,
            None if self.settings.token == OidcTokenKind::Id => return Err(SignInError::NoIdToken { who: self.who() }),
            None => {}
        }
        Ok(self.unchecked(answer, way))
    }

    /// Checks the ID token of an answer, if it has one.
    pub(super) async fn check(
        &self,
        answer: &CoreTokenResponse,
        nonce: Option<&Nonce>,
        proof: &ClientProof,
        way: &Way<'_>,
    ) -> Result<(), SignInError> {
        let refused = |what: String| SignInError::IdToken { who: self.who(), what };
        match verdict(answer, nonce, &self.client(proof), way) {
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {}
            found => return found.map_err(|error| refused(words(&error))),
        }
        let keys = metadata::keys(&self.metadata, way).await?;
        let client = self.client_of(self.metadata.clone().set_jwks(keys), proof);
        verdict(answer, nonce, &client, way).map_err(|error| refused(words(&error)))
    }
}

fn verdict(
    answer: &CoreTokenResponse,
    nonce: Option<&Nonce>,
    client: &Client,
    way: &Way<'_>,
) -> Result<(), ClaimsVerificationError> {
    let Some(token) = answer.extra_fields().id_token() else { return Ok(()) };
    let now = DateTime::<Utc>::from_timestamp(way.now.unix(), 0).unwrap_or_default();
    let verifier = client.id_token_verifier().set_time_fn(move || now).set_other_audience_verifier_fn(|_| true);
    let claims = match nonce {
        Some(nonce) => token.claims(&verifier, nonce)?,
        None => token.claims(&verifier, |_: Option<&Nonce>| Ok(()))?,
    };
    let party = claims.authorized_party().map(|party| party.as_str());
    let ours = client.client_id().as_str();
    if party.is_some_and(|party| party != ours) || (party.is_none() && claims.audiences().len() > 1) {
        let found = party.map_or_else(|| "several audiences and no azp".to_owned(), |party| format!("azp `{party}`"));
        return Err(ClaimsVerificationError::InvalidAudience(format!("issued to another client ({found})")));
    }
    match claims.access_token_hash() {
        Some(expected) if *expected != hash(answer, token, &verifier)? => {
            Err(ClaimsVerificationError::Other("it is not of this access token (at_hash)".to_owned()))
        }
        _ => Ok(()),
    }
}

fn hash(
    answer: &CoreTokenResponse,
    token: &CoreIdToken,
    verifier: &CoreIdTokenVerifier<'_>,
) -> Result<AccessTokenHash, ClaimsVerificationError> {
    let failed = ClaimsVerificationError::SignatureVerification;
    let (algorithm, key) = (token.signing_alg().map_err(failed)?, token.signing_key(verifier).map_err(failed)?);
    let hash = AccessTokenHash::from_token(answer.access_token(), algorithm, key);
    hash.map_err(|_| ClaimsVerificationError::Other("its at_hash cannot be checked".to_owned()))
}

/// Says which check failed. Issuers and audiences are told, nonces and keys are not.
fn words(error: &ClaimsVerificationError) -> String {
    use SignatureVerificationError as Signature;
    let what = match error {
        ClaimsVerificationError::Expired(_) => "it is expired",
        ClaimsVerificationError::InvalidNonce(_) => "its nonce is not that of this sign-in",
        ClaimsVerificationError::InvalidIssuer(what) => return format!("its issuer {}", quotable(what)),
        ClaimsVerificationError::InvalidAudience(what) => return format!("its audience: {}", quotable(what)),
        ClaimsVerificationError::Other(what) | ClaimsVerificationError::Unsupported(what) => return quotable(what),
        ClaimsVerificationError::SignatureVerification(error) => match error {
            Signature::NoSignature => "it is not signed",
            Signature::NoMatchingKey => "it is signed by a key that the issuer does not publish",
            Signature::CryptoError(_) => "its signature is wrong",
            Signature::DisallowedAlg(_) | Signature::UnsupportedAlg(_) => {
                "its signature is of a kind that the issuer does not announce, or that is not safe here"
            }
            Signature::AmbiguousKeyId(_) => "several keys could have signed it, and it names none",
            _ => "its signature cannot be checked",
        },
        _ => "a claim of it is wrong",
    };
    what.to_owned()
}
