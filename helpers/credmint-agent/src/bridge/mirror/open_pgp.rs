//! A signature that Terraform asks of every registry, and no mirror has: by a key that is made for one run and dies with it.
//! A document comes in, a detached signature and the armoured public key go out; whoever trusts them trusts the bridge.
//! Touches nothing. RFC 9580, version 4: packets §4.2, public key §5.5.2.2, user id §5.11, signatures §5.2.3, armour §6.2.

use aws_lc_rs::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use credmint_vocabulary::{Failure, FailureKind};

/// Holds the key of a run.
pub(super) struct Signer {
    pair: KeyPair,
    /// When it was made, in seconds of the wall clock.
    made: u32,
    fingerprint: Vec<u8>,
    armored: String,
}

impl Signer {
    /// Makes a key; RSA, because every Terraform that asks for signatures can check that. It takes a tenth of a second.
    pub(super) fn make(now: u32) -> Result<Self, Failure> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| broken())?;
        let key = public_key(&pair, now);
        let fingerprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, &framed_key(&key)).as_ref().to_vec();
        let mut signer = Self { pair, made: now, fingerprint, armored: String::new() };
        signer.armored = armored(&signer.transferable(&key)?);
        Ok(signer)
    }

    /// Gives the id of the key, as registries write it.
    pub(super) fn key_id(&self) -> String {
        self.id().iter().map(|byte| format!("{byte:02X}")).collect()
    }

    /// Gives the public key.
    pub(super) fn armored_key(&self) -> &str {
        &self.armored
    }

    /// Signs a document.
    pub(super) fn sign(&self, document: &[u8]) -> Result<Vec<u8>, Failure> {
        self.signature(OF_A_DOCUMENT, document, &[])
    }

    /// Writes the key with a name and the key's own word for it, without which nobody accepts it.
    fn transferable(&self, key: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut certified = framed_key(key);
        certified.push(0xb4);
        certified.extend(u32::try_from(USER_ID.len()).unwrap_or_default().to_be_bytes());
        certified.extend(USER_ID);
        let flags = subpacket(KEY_FLAGS, &[MAY_CERTIFY_AND_SIGN]);
        let word = self.signature(OF_A_USER_ID, &certified, &flags)?;
        Ok([packet(PUBLIC_KEY, key), packet(USER, USER_ID), word].concat())
    }

    /// Makes a signature packet (§5.2.3) over what is signed, what the packet itself says, and a trailer (§5.2.4).
    fn signature(&self, kind: u8, signed: &[u8], more: &[u8]) -> Result<Vec<u8>, Failure> {
        let time = subpacket(CREATION_TIME, &self.made.to_be_bytes());
        let issuer = subpacket(ISSUER_FINGERPRINT, &[&[VERSION], self.fingerprint.as_slice()].concat());
        let said = counted(&[time, issuer, more.to_vec()].concat());
        let mut body = [&[VERSION, kind, RSA, WITH_SHA256], said.as_slice()].concat();
        let length = u32::try_from(body.len()).unwrap_or_default().to_be_bytes();
        let mut hash = Context::new(&SHA256);
        [signed, &body, &[VERSION, 0xff], &length].iter().for_each(|part| hash.update(part));
        let hash = hash.finish();
        body.extend(counted(&subpacket(ISSUER_KEY_ID, self.id())));
        body.extend(hash.as_ref().iter().take(2));
        body.extend(number(&self.raw(&hash)?));
        Ok(packet(SIGNATURE, &body))
    }

    fn raw(&self, hash: &Digest) -> Result<Vec<u8>, Failure> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair.sign_digest(&RSA_PKCS1_SHA256, hash, &mut signature).map_err(|_| broken())?;
        Ok(signature)
    }

    fn id(&self) -> &[u8] {
        self.fingerprint.get(12..).unwrap_or_default()
    }
}

/// Writes the body of a public key packet.
fn public_key(pair: &KeyPair, made: u32) -> Vec<u8> {
    let key = pair.public_key();
    let (modulus, exponent) = (key.modulus(), key.exponent());
    let numbers =
        [number(modulus.big_endian_without_leading_zero()), number(exponent.big_endian_without_leading_zero())];
    [&[VERSION], made.to_be_bytes().as_slice(), &[RSA], &numbers.concat()].concat()
}

/// Writes a key as it is hashed, for its fingerprint (§5.5.4) and for signatures over it.
fn framed_key(key: &[u8]) -> Vec<u8> {
    [&[0x99], counted(key).as_slice()].concat()
}

/// Puts the length before something, in two octets.
fn counted(bytes: &[u8]) -> Vec<u8> {
    [u16::try_from(bytes.len()).unwrap_or_default().to_be_bytes().as_slice(), bytes].concat()
}

/// Writes a multiprecision integer (§3.2): its length in bits, then its octets.
fn number(bytes: &[u8]) -> Vec<u8> {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = bytes.get(first..).unwrap_or_default();
    let leading = bytes.first().map_or(0, |byte| byte.leading_zeros());
    let bits = u32::try_from(bytes.len() * 8).unwrap_or_default() - leading;
    [u16::try_from(bits).unwrap_or_default().to_be_bytes().as_slice(), bytes].concat()
}

fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xc0 | tag, 0xff];
    packet.extend(u32::try_from(body.len()).unwrap_or_default().to_be_bytes());
    packet.extend(body);
    packet
}

/// Writes a subpacket; none of ours is longer than one octet can say (§5.2.3.7).
fn subpacket(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[u8::try_from(body.len() + 1).unwrap_or_default(), kind], body].concat()
}

fn armored(bytes: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(bytes);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    let sum = BASE64_STANDARD.encode(check_sum(bytes).to_be_bytes().get(1..).unwrap_or_default());
    format!(
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{}\n={sum}\n-----END PGP PUBLIC KEY BLOCK-----\n",
        lines.join("\n")
    )
}

/// Makes the CRC of an armour (§6.1.1).
fn check_sum(bytes: &[u8]) -> u32 {
    let shifted = |sum: u32, _| if sum & 0x80_0000 == 0 { sum << 1 } else { (sum << 1) ^ 0x186_4cfb };
    let with = |sum: u32, byte: &u8| (0..8).fold(sum ^ (u32::from(*byte) << 16), shifted) & 0xff_ffff;
    bytes.iter().fold(0xb7_04ce, with)
}

fn broken() -> Failure {
    Failure::new(FailureKind::Internal, "the system makes no key for the signatures of a mirror")
}

const VERSION: u8 = 4;
const RSA: u8 = 1;
const WITH_SHA256: u8 = 8;
const SIGNATURE: u8 = 2;
const PUBLIC_KEY: u8 = 6;
const USER: u8 = 13;
const OF_A_DOCUMENT: u8 = 0x00;
const OF_A_USER_ID: u8 = 0x13;
const CREATION_TIME: u8 = 2;
const ISSUER_KEY_ID: u8 = 16;
const KEY_FLAGS: u8 = 27;
const ISSUER_FINGERPRINT: u8 = 33;
const MAY_CERTIFY_AND_SIGN: u8 = 0x03;
const USER_ID: &[u8] = b"credmint, for one run";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_check_sums_are_those_of_the_document() {
        // RFC 9580 section 3.2 has both numbers; the CRC is that of "123456789" in the catalogue of CRCs.
        assert_eq!(number(&[1]), [0x00, 0x01, 0x01]);
        assert_eq!(number(&[0, 0x01, 0xff]), [0x00, 0x09, 0x01, 0xff]);
        assert_eq!(check_sum(b"123456789"), 0x21_cf02);
    }
}
