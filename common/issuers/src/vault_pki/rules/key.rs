//! `key_type` and `key_bits`: which keys a role takes.
//! A role and a key algorithm come in, a finding or the algorithm that would do goes out.
//! Touches nothing. hashicorp/vault#4595, PR#16246, #1104.

use credmint_client_identity::KeyAlgorithm;

use super::{Effect, Finding};
use crate::vault_pki::role::Role;

/// Gives the word for the kind that Vault uses, and the size.
pub(crate) const fn kind(key: KeyAlgorithm) -> (&'static str, u64) {
    match key {
        KeyAlgorithm::EcdsaP256 => ("ec", 256),
        KeyAlgorithm::EcdsaP384 => ("ec", 384),
        KeyAlgorithm::Ed25519 => ("ed25519", 256),
        KeyAlgorithm::Rsa2048 => ("rsa", 2048),
        KeyAlgorithm::Rsa3072 => ("rsa", 3072),
        KeyAlgorithm::Rsa4096 => ("rsa", 4096),
        // A later kind of ours: no role of today names it.
        _ => ("", 0),
    }
}

/// Finds the smallest key of ours that a kind and a size allow.
pub(crate) fn named(key_type: &str, bits: u64) -> Option<KeyAlgorithm> {
    let size_counts = key_type != "ed25519";
    KeyAlgorithm::ALL.into_iter().find(|key| {
        let (own, size) = kind(*key);
        own == key_type && (!size_counts || size >= bits)
    })
}

/// Finds the key that a role takes: `preferred` if it may be, else the smallest of the kind that the role names.
pub(crate) fn fit(role: &Role, preferred: KeyAlgorithm) -> Option<KeyAlgorithm> {
    let (own, size) = kind(preferred);
    match role.key_type.as_str() {
        "any" => Some(preferred),
        wanted if wanted == own && (own == "ed25519" || size >= role.key_bits) => Some(preferred),
        wanted => named(wanted, role.key_bits),
    }
}

/// Judges a key. A role of type `any` takes every key of ours: its `key_bits` counts only in some versions (Vault 1.9), and
/// ed25519 has one size.
pub(super) fn judge(name: &str, role: &Role, key: KeyAlgorithm) -> Option<Finding> {
    let (own, size) = kind(key);
    if role.key_type == "any" {
        return (role.key_bits > size && own == "ec").then(|| old_any(name, role));
    }
    if fit(role, key) == Some(key) {
        return None;
    }
    let rule = match own == role.key_type {
        true => format!("key_bits = {} of role {name} wants larger keys than {}", role.key_bits, key.word()),
        false => format!("key_type = {} of role {name} takes no key of the kind {}", role.key_type, key.word()),
    };
    let hint = match fit(role, key) {
        Some(other) => format!("set key = \"{}\", or ask the administrator for key_type=any", other.word()),
        None => format!("ask the administrator for other key_type and key_bits of role {name}: no key of ours fits"),
    };
    Some(Finding::new(Effect::Refuses, rule, hint))
}

fn old_any(name: &str, role: &Role) -> Finding {
    let what = format!(
        "key_bits = {} of role {name} with key_type = any: today's servers pass over it, Vault 1.9 holds it against EC keys",
        role.key_bits
    );
    Finding::new(Effect::Unknown, what, "if the key is refused: ask for key_bits=0, or set key = \"rsa-2048\"")
}
