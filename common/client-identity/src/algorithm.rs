//! The key algorithms that we make keys with.
//! A word of the settings comes in, an enum goes out.
//! Touches nothing.

/// Names a key algorithm with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyAlgorithm {
    /// ECDSA on P-256.
    #[default]
    EcdsaP256,
    /// ECDSA on P-384.
    EcdsaP384,
    /// Ed25519.
    Ed25519,
    /// RSA, 2048 bits.
    Rsa2048,
    /// RSA, 3072 bits.
    Rsa3072,
    /// RSA, 4096 bits.
    Rsa4096,
}

impl KeyAlgorithm {
    /// All of them, in the order in which messages list them.
    pub const ALL: [Self; 6] =
        [Self::EcdsaP256, Self::EcdsaP384, Self::Ed25519, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// Gives the word that the settings use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.word() == word)
    }
}
