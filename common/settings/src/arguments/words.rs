//! The words of each program: every argument, the key that it sets, and the form of its value.
//! Constants only.
//! `protocol-spec/settings.md` is held against them by a test.

use crate::arguments::Part;

/// A helper that is configured by arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    VaultPki,
    Oidc,
}

/// One argument.
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) part: Part,
    pub(crate) key: &'static str,
    pub(crate) form: Form,
}

/// Says what a value becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The value of a key.
    Text,
    /// One more value of a key.
    List,
    /// `true`; there is no value.
    Flag,
    /// `{ env = … }`.
    SourceEnv,
    /// `{ file = … }`.
    SourceFile,
    /// An identity of kind `env`.
    Env,
    /// An identity of kind `file`.
    File,
    /// An identity of kind `kubernetes`; the value may be left out.
    Kubernetes,
    /// An identity of kind `command`, split at blanks.
    Command,
}

impl Form {
    pub(crate) const fn identity_kind(self) -> Option<&'static str> {
        match self {
            Self::Env => Some("env"),
            Self::File => Some("file"),
            Self::Kubernetes => Some("kubernetes"),
            Self::Command => Some("command"),
            Self::Text | Self::List | Self::Flag | Self::SourceEnv | Self::SourceFile => None,
        }
    }
}

impl Program {
    pub(crate) const ALL: [Self; 2] = [Self::VaultPki, Self::Oidc];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::VaultPki => "terraform-credentials-vault-pki",
            Self::Oidc => "terraform-credentials-oidc",
        }
    }

    /// Says which part the issuer's own arguments are.
    pub(crate) const fn issuer_part(self) -> Part {
        match self {
            Self::VaultPki => Part::Vault,
            Self::Oidc => Part::Exchange,
        }
    }

    /// Lists the words that the program takes.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static Word> {
        let own = match self {
            Self::VaultPki => VAULT_PKI,
            Self::Oidc => OIDC,
        };
        BOTH.iter().chain(own)
    }
}

const fn word(name: &'static str, part: Part, key: &'static str, form: Form) -> Word {
    Word { name, part, key, form }
}

const BOTH: &[Word] = &[
    word("--host", Part::Name, "host", Form::Text),
    word("--deliver", Part::Host, "deliver", Form::Text),
    word("--upstream", Part::Host, "upstream", Form::Text),
    word("--ca", Part::Host, "ca", Form::Text),
    word("--ca-only", Part::Host, "ca_only", Form::Flag),
    word("--pin", Part::Host, "pins", Form::List),
    word("--proxy", Part::Host, "proxy", Form::Text),
    word("--minimum-life", Part::Host, "minimum_life", Form::Text),
    word("--confirm", Part::Host, "confirm", Form::Flag),
    word("--identity-env", Part::Identity, "variable", Form::Env),
    word("--identity-file", Part::Identity, "path", Form::File),
    word("--identity-kubernetes", Part::Identity, "path", Form::Kubernetes),
    word("--identity-command", Part::Identity, "command", Form::Command),
];

const VAULT_PKI: &[Word] = &[
    word("--address", Part::Vault, "address", Form::Text),
    word("--namespace", Part::Vault, "namespace", Form::Text),
    word("--vault-ca", Part::Vault, "ca", Form::Text),
    word("--vault-ca-only", Part::Vault, "ca_only", Form::Flag),
    word("--vault-pin", Part::Vault, "pins", Form::List),
    word("--vault-proxy", Part::Vault, "proxy", Form::Text),
    word("--auth", Part::Auth, "method", Form::Text),
    word("--auth-mount", Part::Auth, "mount", Form::Text),
    word("--auth-role", Part::Auth, "role", Form::Text),
    word("--role-id", Part::Auth, "role_id", Form::Text),
    word("--secret-id-env", Part::Auth, "secret_id", Form::SourceEnv),
    word("--secret-id-file", Part::Auth, "secret_id", Form::SourceFile),
    word("--token-env", Part::Auth, "token", Form::SourceEnv),
    word("--token-file", Part::Auth, "token", Form::SourceFile),
    word("--certificate-env", Part::Auth, "certificate", Form::SourceEnv),
    word("--certificate-file", Part::Auth, "certificate", Form::SourceFile),
    word("--certificate-key-env", Part::Auth, "key", Form::SourceEnv),
    word("--certificate-key-file", Part::Auth, "key", Form::SourceFile),
    word("--mount", Part::Vault, "mount", Form::Text),
    word("--role", Part::Vault, "role", Form::Text),
    word("--key", Part::Vault, "key", Form::Text),
    word("--common-name", Part::Vault, "common_name", Form::Text),
    word("--dns-name", Part::Vault, "dns_names", Form::List),
    word("--email-address", Part::Vault, "email_addresses", Form::List),
    word("--ip-address", Part::Vault, "ip_addresses", Form::List),
    word("--uri", Part::Vault, "uris", Form::List),
    word("--ttl", Part::Vault, "ttl", Form::Text),
];

const OIDC: &[Word] = &[
    word("--audience", Part::PassedOn, "audience", Form::Text),
    word("--issuer", Part::Exchange, "issuer", Form::Text),
    word("--token-endpoint", Part::Exchange, "token_endpoint", Form::Text),
    word("--issuer-ca", Part::Exchange, "ca", Form::Text),
    word("--issuer-ca-only", Part::Exchange, "ca_only", Form::Flag),
    word("--issuer-pin", Part::Exchange, "pins", Form::List),
    word("--issuer-proxy", Part::Exchange, "proxy", Form::Text),
    word("--client-id", Part::Exchange, "client_id", Form::Text),
    word("--client-auth", Part::Exchange, "client_auth", Form::Text),
    word("--client-secret-env", Part::Exchange, "client_secret", Form::SourceEnv),
    word("--client-secret-file", Part::Exchange, "client_secret", Form::SourceFile),
    word("--client-key-env", Part::Exchange, "client_key", Form::SourceEnv),
    word("--client-key-file", Part::Exchange, "client_key", Form::SourceFile),
    word("--client-key-id", Part::Exchange, "client_key_id", Form::Text),
    word("--exchange-audience", Part::Exchange, "audience", Form::List),
    word("--resource", Part::Exchange, "resource", Form::List),
    word("--scope", Part::Exchange, "scopes", Form::List),
    word("--subject-token-type", Part::Exchange, "subject_token_type", Form::Text),
    word("--requested-token-type", Part::Exchange, "requested_token_type", Form::Text),
    word("--actor-token-env", Part::Exchange, "actor_token", Form::SourceEnv),
    word("--actor-token-file", Part::Exchange, "actor_token", Form::SourceFile),
    word("--actor-token-type", Part::Exchange, "actor_token_type", Form::Text),
];
