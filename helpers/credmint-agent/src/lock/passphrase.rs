//! From a passphrase to a key: Argon2id (RFC 9106), slow on purpose.
//! Passphrase and salt come in, a key goes out.
//! Works on a thread of its own, so that nobody else waits for it.

use argon2::{Algorithm, Argon2, Params, Version};
use credmint_vocabulary::{Failure, FailureKind, Secret};
use zeroize::Zeroizing;

use super::sealing::SealingKey;

/// Random bits that make the same passphrase another key each time.
pub(crate) type Salt = [u8; 16];

/// Draws a salt.
pub(crate) fn salt() -> Result<Salt, Failure> {
    let mut salt = Salt::default();
    aws_lc_rs::rand::fill(&mut salt).map_err(|_| broken())?;
    Ok(salt)
}

/// Derives the key.
pub(crate) async fn key(passphrase: Secret<String>, salt: Salt) -> Result<SealingKey, Failure> {
    let deriving = tokio::task::spawn_blocking(move || derive(&passphrase, salt));
    deriving.await.map_err(|_| broken())?
}

fn derive(passphrase: &Secret<String>, salt: Salt) -> Result<SealingKey, Failure> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).map_err(|_| broken())?;
    let mut bits = Zeroizing::new([0; 32]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(passphrase.expose().as_bytes(), &salt, &mut *bits).map_err(|_| broken())?;
    SealingKey::new(&bits).map_err(|_| broken())
}

fn broken() -> Failure {
    Failure::new(FailureKind::Internal, "no key could be made of the passphrase").hint("credmint status")
}

/// The second of the two choices that RFC 9106 §4 recommends, on one lane. Measured: 0.15 s of processor time; 0.55 s by the
/// clock on two cores with ten jobs.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
