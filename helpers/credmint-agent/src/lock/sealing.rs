//! Encryption in place: what is secret is put away under a key that nobody keeps, and comes back when the key does.
//! A value and a key come in; ciphertext stays where the value was. Keeps no key and no copy.
//! AES-256-GCM with a random nonce for each value (NIST SP 800-38D §8.2.2).

use std::cell::RefCell;
use std::rc::Rc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::error::Unspecified;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

/// Encrypts and decrypts; wiped by the cryptographic library when it is dropped.
pub(crate) struct SealingKey(RandomizedNonceKey);

/// Holds a value that only the key gives back.
pub(crate) struct Sealed {
    nonce: [u8; NONCE_LEN],
    text: Vec<u8>,
}

impl SealingKey {
    /// Takes 256 bits.
    pub(crate) fn new(bits: &[u8; 32]) -> Result<Self, Unspecified> {
        RandomizedNonceKey::new(&AES_256_GCM, bits).map(Self)
    }

    /// Encrypts a value.
    pub(crate) fn seal(&self, what: &impl Serialize) -> Result<Sealed, Unspecified> {
        let mut text = serde_json::to_vec(what).map_err(|_| Unspecified)?;
        let nonce = self.0.seal_in_place_append_tag(Aad::from(PURPOSE), &mut text)?;
        Ok(Sealed { nonce: *nonce.as_ref(), text })
    }

    /// Gives a value back; fails under another key.
    pub(crate) fn open<T: DeserializeOwned>(&self, sealed: &Sealed) -> Result<T, Unspecified> {
        let nonce = Nonce::assume_unique_for_key(sealed.nonce);
        let mut text = Zeroizing::new(sealed.text.clone());
        let plain = self.0.open_in_place(nonce, Aad::from(PURPOSE), &mut text)?;
        serde_json::from_slice(plain).map_err(|_| Unspecified)
    }
}

/// A secret of ours that can be written down, sealed, and made again of what was written.
pub(crate) trait Pack: Sized {
    /// The written form.
    type Packed: Serialize + DeserializeOwned;

    /// Writes it.
    fn pack(&self) -> Self::Packed;

    /// Makes it again.
    fn unpack(packed: Self::Packed) -> Option<Self>;
}

/// Holds a value that can be sealed where it stands.
pub(crate) struct Sealable<T>(RefCell<Slot<T>>);

enum Slot<T> {
    Open(Rc<T>),
    Sealed(Sealed),
    /// The cryptographic library failed: better no value than one in the clear.
    Lost,
}

impl<T> Sealable<T> {
    /// Gives the value; `None` while it is sealed.
    pub(crate) fn get(&self) -> Option<Rc<T>> {
        match &*self.0.borrow() {
            Slot::Open(value) => Some(Rc::clone(value)),
            Slot::Sealed(_) | Slot::Lost => None,
        }
    }
}

impl<T: Pack> Sealable<T> {
    /// Seals the value; what is sealed stays so.
    pub(crate) fn seal(&self, key: &SealingKey) {
        if let Some(value) = self.get() {
            self.0.replace(key.seal(&value.pack()).map_or(Slot::Lost, Slot::Sealed));
        }
    }

    /// Brings the value back.
    pub(crate) fn unseal(&self, key: &SealingKey) {
        let opened = match &*self.0.borrow() {
            Slot::Sealed(sealed) => key.open(sealed).ok().and_then(T::unpack),
            Slot::Open(_) | Slot::Lost => return,
        };
        self.0.replace(opened.map_or(Slot::Lost, |value| Slot::Open(Rc::new(value))));
    }
}

impl<T> From<T> for Sealable<T> {
    fn from(value: T) -> Self {
        Self(RefCell::new(Slot::Open(Rc::new(value))))
    }
}

/// Binds the ciphertext to its purpose.
const PURPOSE: &[u8] = b"credmint lock 1";

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_vocabulary::Secret;

    #[test]
    fn what_is_sealed_comes_back_with_its_key_and_with_no_other() {
        let (key, other) = (SealingKey::new(&[1; 32]).expect("a key"), SealingKey::new(&[2; 32]).expect("a key"));
        let (kept, lost) = (Sealable::from(Secret::from("token")), Sealable::from(Secret::from("token")));
        for secret in [&kept, &lost] {
            secret.seal(&key);
            secret.seal(&other);
            assert!(secret.get().is_none());
        }
        kept.unseal(&key);
        assert!(kept.get().is_some_and(|token| token.same_as(b"token")));
        lost.unseal(&other);
        assert!(lost.get().is_none());
    }

    #[test]
    fn no_two_ciphertexts_are_alike() {
        let key = SealingKey::new(&[1; 32]).expect("a key");
        let sealed = || key.seal(&"the same").expect("sealed");
        let (one, two) = (sealed(), sealed());
        assert!(one.nonce != two.nonce && one.text != two.text);
        assert!(!one.text.windows(8).any(|part| part == b"the same"));
    }
}
