//! What Vault meant by a refusal: it says so in words only, and uses 400 for most.
//! Status and the texts of `errors` come in, a class goes out, which decides about our own words and the hint.
//! A text that matches no class is no harm: the class is then the status alone.

/// Says what Vault refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VaultRefusal {
    /// The JWT is for another audience, or the role expects none.
    Audience,
    /// The JWT is expired, or not valid yet.
    Time,
    /// The JWT is of an issuer, or signed by a key, that the mount does not know.
    Issuer,
    /// A claim is missing or does not match the role.
    Claim,
    /// The role does not exist.
    Role,
    /// What was sent is no JWT.
    MalformedToken,
    /// The secret ID, role ID or client certificate is not accepted.
    Login,
    /// A name that the PKI role does not allow.
    Name,
    /// A key of a kind or size that the PKI role does not allow.
    Key,
    /// An IP address that the PKI role does not allow.
    Address,
    /// A URI that the PKI role does not allow.
    Uri,
    /// A life beyond the end of the issuing CA.
    Life,
    /// The PKI role wants a common name.
    CommonName,
    /// Nothing is at this path: mount, namespace or secret.
    NotFound,
    /// A login path that does not exist, or is closed to this caller.
    AuthMount,
    /// The namespace does not exist.
    Namespace,
    /// The token is not valid, or its policies do not allow this.
    Forbidden,
    /// A sign-in that was never begun, is finished, or took too long.
    SignIn,
    /// An auth method that signs nobody in by OIDC.
    NotOidc,
    /// Anything else.
    Other,
}

/// What stands in the texts, in lower case; the first match counts.
const TEXTS: &[(&[&str], VaultRefusal)] = &[
    (&["oauth state", "client_nonce"], VaultRefusal::SignIn),
    (&["oidc login is not configured", "is not allowed for oidc", "role with oidc role_type"], VaultRefusal::NotOidc),
    (&["namespace not found", "no namespace"], VaultRefusal::Namespace),
    (&["expiration of the ca certificate"], VaultRefusal::Life),
    (&["ip subject alternative name"], VaultRefusal::Address),
    (&["uri subject alternative name"], VaultRefusal::Uri),
    (
        &["malformed jwt", "compact jws", "not a jwt", "unable to parse", "error parsing token"],
        VaultRefusal::MalformedToken,
    ),
    (&["audience", "(aud)"], VaultRefusal::Audience),
    (
        &["expired", "not valid yet", "not yet valid", "used before issued", "(exp)", "(nbf)", "(iat)"],
        VaultRefusal::Time,
    ),
    (&["invalid issuer", "(iss)", "no known key", "token signature"], VaultRefusal::Issuer),
    (&["claim"], VaultRefusal::Claim),
    (&["unknown role", "invalid role name", "could not be found", "missing role"], VaultRefusal::Role),
    (&["secret id", "secret_id", "role id", "role_id", "client certificate", "no chain matching"], VaultRefusal::Login),
    (&["common_name field is required", "common name is required", "no common name"], VaultRefusal::CommonName),
    (&["key type", "keys of type", "key bits", "minimum of a", "key_type"], VaultRefusal::Key),
    (
        &[
            "not allowed by this role",
            "not allowed in this role",
            "not valid for this role",
            "subject alternative name",
            "common name",
        ],
        VaultRefusal::Name,
    ),
];

impl VaultRefusal {
    /// Finds the class.
    #[must_use]
    pub fn of(status: u16, errors: &[String]) -> Self {
        let text = errors.join("\n").to_ascii_lowercase();
        let found = TEXTS.iter().find(|(texts, _)| texts.iter().any(|part| text.contains(part)));
        match (status, found) {
            (404, Some((_, Self::Namespace))) => Self::Namespace,
            (404, _) => Self::NotFound,
            (403, _) => Self::Forbidden,
            (_, Some((_, class))) => *class,
            _ => Self::Other,
        }
    }

    /// Says what a refusal at a login path means: nobody had a token yet, so it is about the path.
    #[must_use]
    pub(crate) const fn at_login(self) -> Self {
        match self {
            Self::Forbidden | Self::NotFound => Self::AuthMount,
            other => other,
        }
    }

    /// Says it in our words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Audience => "the token is for another audience than the role expects",
            Self::Time => "the token is expired or not valid yet",
            Self::Issuer => "the token is not of the issuer that the auth method trusts",
            Self::Claim => "a claim of the token does not match the role",
            Self::Role => "there is no such role",
            Self::MalformedToken => "the token is no JWT",
            Self::Login => "the login is not accepted",
            Self::Name => {
                "the role does not allow a name that was asked for (allowed_domains, cn_validations and what goes with them)"
            }
            Self::Key => "the role does not allow keys of this kind (key_type, key_bits)",
            Self::Address => "the role does not allow an IP address that was asked for (allow_ip_sans)",
            Self::Uri => "the role does not allow a URI that was asked for (allowed_uri_sans)",
            Self::Life => "the certificate would outlive the issuing CA",
            Self::CommonName => "the role wants a common name (require_cn)",
            Self::NotFound => "nothing is at this path",
            Self::AuthMount => "there is no such auth method, or it is closed to us",
            Self::Namespace => "there is no such namespace",
            Self::Forbidden => "permission denied",
            Self::SignIn => "it does not know this sign-in, or not any more",
            Self::NotOidc => "nobody signs in there by OIDC",
            Self::Other => "it gave a reason that we do not know",
        }
    }

    /// Says what to do next.
    #[must_use]
    pub const fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::Audience => "compare the token's aud with bound_audiences of the role",
            Self::Time => "get a new token, and check this machine's clock",
            Self::Issuer => "compare the token's iss with bound_issuer and the keys of the auth method",
            Self::Claim => "compare the token's claims with bound_claims, bound_subject and user_claim of the role",
            Self::Role => "check the role in the settings, in `auth` or in the identity, and that of the PKI engine",
            Self::MalformedToken => "the identity must give a JWT, not an opaque token",
            Self::Login => "check the role and the secret or certificate that the settings name",
            Self::Name => "compare common_name and the other names of the settings with what the PKI role allows",
            Self::Key => "set key in the settings to what the PKI role wants, for example key = \"rsa-2048\"",
            Self::Address => "leave ip_addresses out, or ask the administrator for allow_ip_sans=true",
            Self::Uri => "compare uris of the settings with allowed_uri_sans of the PKI role",
            Self::Life => "set a shorter ttl, and tell the administrator that the issuing CA ends soon",
            Self::CommonName => "set common_name in the settings, for example common_name = \"{sub}\"",
            Self::NotFound => "check mount, path and namespace in the settings",
            Self::AuthMount => "check auth.method, auth.mount and namespace in the settings",
            Self::Namespace => "check namespace in the settings",
            Self::Forbidden => {
                "check the spelling of this path (mount and role), and that the policies of the login's role allow it"
            }
            Self::SignIn => "sign in again",
            Self::NotOidc => {
                "check mount and role in the settings: they must be of an auth method that has oidc_client_id"
            }
            Self::Other => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::VaultRefusal::{self, *};

    #[test]
    fn the_words_of_vault_and_openbao_are_known() {
        for (status, text, class) in [
            (
                400,
                "error validating token: invalid audience (aud) claim: audience claim does not match any expected audience",
                Audience,
            ),
            (400, "audience claim found in JWT but no audiences bound to the role", Audience),
            (400, "error validating token: invalid expiration time (exp) claim: token is expired", Time),
            (400, "error validating token: invalid issuer (iss) claim", Issuer),
            (400, "error validating token: no known key successfully validated the token signature", Issuer),
            (400, "error validating claims: claim \"group\" does not match any associated bound claim values", Claim),
            (400, "role \"nobody\" could not be found", Role),
            (400, "unknown role: x", Role),
            (400, "error parsing token: go-jose/go-jose: compact JWS format must have three parts", MalformedToken),
            (400, "invalid role or secret ID", Login),
            (400, "common name evil.example not allowed by this role", Name),
            (400, "URI Subject Alternative Names were provided via CSR which are not valid for this role", Uri),
            (400, "IP Subject Alternative Names are not allowed in this role, but was provided [10.0.0.1]", Address),
            (
                400,
                "cannot satisfy request, as TTL would result in notAfter of 2027-01-01T19:37:10Z that is beyond the expiration \
                 of the CA certificate at 2026-12-01T05:37:10Z",
                Life,
            ),
            (
                400,
                "error verifying token signature: oidc: malformed jwt: go-jose/go-jose: compact JWS format must",
                MalformedToken,
            ),
            (400, "URI spiffe://x is not allowed by this role: not allowed in this role", Name),
            (400, "role requires keys of type rsa", Key),
            (400, "role requires a minimum of a 3072-bit key, but CSR's key is 2048 bits", Key),
            (403, "permission denied", Forbidden),
            (404, "namespace not found", Namespace),
            (404, "no handler for route \"pki2/sign/x\"", NotFound),
            (400, "Vault login failed. Expired or missing OAuth state.", SignIn),
            (400, "OIDC login is not configured for this mount", NotOidc),
            (400, "something of a later version", Other),
        ] {
            assert_eq!(VaultRefusal::of(status, &[text.to_owned()]), class, "{text}");
        }
    }
}
