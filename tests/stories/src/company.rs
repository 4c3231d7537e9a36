//! A company: an OpenID Provider that signs tokens, an OpenBao that signs certificates, a registry that wants one.
//! Nothing comes in; running peers and the tables of the settings that lead to them go out.
//! Starts peers by the kit and touches nothing else.

use credmint_test_kit::openbao::Pki;
use credmint_test_kit::{Gate, Links, OpenBao, OpenIdProvider, Registry};
use serde_json::json;

use crate::HOST;

/// A company whose registry wants a client certificate of its own PKI.
pub struct Company {
    /// Signs the tokens of its people and jobs.
    pub provider: OpenIdProvider,
    /// Signs their certificates.
    pub bao: OpenBao,
    /// The engine that the registry trusts.
    pub pki: Pki,
    /// The registry.
    pub registry: Registry,
}

impl Company {
    /// Founds it: JWT login at OpenBao for tokens of the provider, a PKI role, a registry that trusts the PKI.
    #[must_use]
    pub fn found() -> Self {
        Self::found_with(OpenIdProvider::start())
    }

    /// Founds it with a provider that has been started already.
    #[must_use]
    pub fn found_with(provider: OpenIdProvider) -> Self {
        let bao = OpenBao::start();
        let pki = bao.pki("pki");
        pki.role("registry-client", json!({ "max_ttl": "2h" }));
        bao.jwt_auth("jwt", provider.issuer());
        // For jobs, whose tokens are for the audience `vault`, and for people, whose ID tokens are for their client.
        bao.jwt_role("jwt", "terraform", "vault", &[&pki.policy_for("registry-client")]);
        bao.write(
            "auth/jwt/role/terraform",
            json!({ "role_type": "jwt", "user_claim": "sub", "bound_audiences": ["vault", "cli"] }),
        );
        let registry = Registry::behind(Gate::ClientCertificate(pki.path())).start();
        Self { provider, bao, pki, registry }
    }

    /// Gives the company a registry whose answers name archives in another way.
    pub fn move_registry(&mut self, links: Links) {
        self.registry = Registry::behind(Gate::ClientCertificate(self.pki.path())).links(links).start();
    }

    /// Gives the issuer table of the settings.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.issuer_with("common_name = \"{email}\"\nttl = \"1h\"\n")
    }

    /// Gives the issuer table of the settings with these lines.
    #[must_use]
    pub fn issuer_with(&self, lines: &str) -> String {
        format!(
            "[issuer.registry-cert]\nkind = \"vault-pki\"\naddress = \"{}\"\n\
             auth = {{ method = \"jwt\", role = \"terraform\" }}\nrole = \"registry-client\"\n{lines}\n",
            self.bao.address()
        )
    }

    /// Gives the host table of the settings: `identity` and more lines as they are.
    #[must_use]
    pub fn host(&self, identity: &str, more: &str) -> String {
        format!(
            "[host.\"{HOST}\"]\nidentity = \"{identity}\"\nissuer = \"registry-cert\"\nca = \"{}\"\n{more}\n",
            self.registry.ca_file().display()
        )
    }
}
