//! What is secret, written down so that it can be sealed: tokens, private keys, what a caller supplied.
//! A value comes in and its written form goes out, and back.
//! Writes to memory alone; each form carries its secrets as [`WireSecret`], which is wiped on drop.

use credmint_agent_protocol::{Supply, WireSecret};
use credmint_client_identity::{Asked, ClientIdentity, PrivateKey};
use credmint_identities::{Caller, Claims, Tokens};
use credmint_issuers::{AccessKeys, BearerToken};
use credmint_vocabulary::{Secret, Timestamp};
use serde::{Deserialize, Serialize};

use super::sealing::Pack;
use crate::held::Held;
use crate::server::supplied;

fn wire(secret: &Secret<String>) -> WireSecret {
    secret.copied().into()
}

impl Pack for Secret<String> {
    type Packed = WireSecret;

    fn pack(&self) -> WireSecret {
        wire(self)
    }

    fn unpack(packed: WireSecret) -> Option<Self> {
        Some(packed.into_secret())
    }
}

impl Pack for Caller {
    type Packed = Supply;

    fn pack(&self) -> Supply {
        let path = |path: &std::path::PathBuf| path.display().to_string();
        Supply {
            environment: self.environment.iter().map(|(name, value)| (name.clone(), wire(value))).collect(),
            files: self.files.iter().map(|(file, value)| (path(file), wire(value))).collect(),
            unreadable: self.unreadable.iter().map(|(file, why)| (path(file), why.clone())).collect(),
        }
    }

    fn unpack(packed: Supply) -> Option<Self> {
        Some(supplied(packed))
    }
}

/// The written form of a credential.
#[derive(Serialize, Deserialize)]
pub(crate) enum PackedCredential {
    /// A bearer token, and when it ends.
    Token(WireSecret, Option<i64>),
    /// A private key with its certificates.
    Identity(PackedIdentity),
    /// Keys of AWS.
    Keys(PackedKeys),
}

impl Pack for Held {
    type Packed = PackedCredential;

    fn pack(&self) -> PackedCredential {
        match self {
            Self::Token(token) => PackedCredential::Token(wire(&token.token), token.expires.map(Timestamp::unix)),
            Self::Identity(identity) => PackedCredential::Identity(PackedIdentity::of(identity)),
            Self::Keys(keys) => PackedCredential::Keys(PackedKeys::of(keys)),
        }
    }

    fn unpack(packed: PackedCredential) -> Option<Self> {
        match packed {
            PackedCredential::Token(token, expires) => Some(Self::Token(BearerToken {
                token: token.into_secret(),
                expires: expires.map(Timestamp::from_unix),
            })),
            PackedCredential::Identity(identity) => Some(Self::Identity(identity.identity()?.into())),
            PackedCredential::Keys(keys) => Some(Self::Keys(keys.keys())),
        }
    }
}

/// The written form of keys of AWS.
#[derive(Serialize, Deserialize)]
pub(crate) struct PackedKeys {
    access_key_id: String,
    secret_access_key: WireSecret,
    session_token: WireSecret,
    account_id: Option<String>,
    expires: i64,
}

impl PackedKeys {
    fn of(keys: &AccessKeys) -> Self {
        Self {
            access_key_id: keys.access_key_id.clone(),
            secret_access_key: wire(&keys.secret_access_key),
            session_token: wire(&keys.session_token),
            account_id: keys.account_id.clone(),
            expires: keys.expires.unix(),
        }
    }

    fn keys(self) -> AccessKeys {
        AccessKeys {
            access_key_id: self.access_key_id,
            secret_access_key: self.secret_access_key.into_secret(),
            session_token: self.session_token.into_secret(),
            account_id: self.account_id,
            expires: Timestamp::from_unix(self.expires),
        }
    }
}

/// The written form of a key with its certificates.
#[derive(Serialize, Deserialize)]
pub(crate) struct PackedIdentity {
    key_pem: WireSecret,
    path_pem: String,
    anchor_pem: Option<String>,
    /// A time at which it was valid: what was verified once is only put together again.
    valid_at: i64,
}

impl PackedIdentity {
    /// Writes it.
    pub(crate) fn of(identity: &ClientIdentity) -> Self {
        Self {
            key_pem: identity.private_key_pem().into(),
            path_pem: identity.certificate_pem(),
            anchor_pem: identity.anchor_pem(),
            valid_at: identity.not_before().unix(),
        }
    }

    /// Makes it again.
    pub(crate) fn identity(self) -> Option<ClientIdentity> {
        let key = PrivateKey::from_pkcs8_pem(self.key_pem.secret()).ok()?;
        let anchor: Vec<String> = self.anchor_pem.into_iter().collect();
        let now = Timestamp::from_unix(self.valid_at);
        let assembled = ClientIdentity::assemble(key, &self.path_pem, &anchor, &Asked::default(), now);
        assembled.ok().map(|(identity, _)| identity)
    }
}

/// The written form of the tokens of a sign-in; their claims are what a person may read, and stay outside.
#[derive(Serialize, Deserialize)]
pub(crate) struct PackedTokens {
    access: WireSecret,
    access_expires: Option<i64>,
    id: Option<WireSecret>,
    refresh: Option<WireSecret>,
    scope: Vec<String>,
    who: String,
}

impl PackedTokens {
    /// Writes them.
    pub(crate) fn of(tokens: &Tokens) -> Self {
        Self {
            access: wire(&tokens.access),
            access_expires: tokens.access_expires.map(Timestamp::unix),
            id: tokens.id.as_ref().map(wire),
            refresh: tokens.refresh.as_ref().map(wire),
            scope: tokens.scope.clone(),
            who: tokens.who.clone(),
        }
    }

    /// Makes them again.
    pub(crate) fn tokens(self, claims: Option<Claims>) -> Tokens {
        Tokens {
            access: self.access.into_secret(),
            access_expires: self.access_expires.map(Timestamp::from_unix),
            id: self.id.map(WireSecret::into_secret),
            claims,
            refresh: self.refresh.map(WireSecret::into_secret),
            scope: self.scope,
            who: self.who,
            vault: None,
        }
    }
}
