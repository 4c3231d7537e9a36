//! What the caller sent along: the agent's own environment and files are not the caller's.
//! A route comes in and the names that it reads go out; later the values come in and are looked up by those names.
//! Reads nothing itself: the agent protocol's `need` carries names out and values in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use credmint_settings::{
    CallerReads, ClientAuthentication, EstAuth, Identity, Issuer, OidcIdentity, Route, SPIFFE_ENDPOINT_SOCKET, Source,
    SpiffeWorkload, VaultAuth, VaultLogin,
};
use credmint_vocabulary::Secret;

use crate::workload;

/// Holds what the caller sent; what is in none of the maps is absent.
#[derive(Debug, Default)]
pub struct Caller {
    /// Environment variables by name.
    pub environment: BTreeMap<String, Secret<String>>,
    /// Contents of files by the path that the settings give.
    pub files: BTreeMap<PathBuf, Secret<String>>,
    /// Files that are there and could not be read, with the reason.
    pub unreadable: BTreeMap<PathBuf, String>,
}

impl Caller {
    /// Copies the part that is named, for somebody who has to ask again when this caller is gone.
    pub(crate) fn copied(&self, reads: &CallerReads) -> Self {
        let mut own = Self::default();
        for (name, value) in self.environment.iter().filter(|(name, _)| reads.environment.contains(*name)) {
            own.environment.insert(name.clone(), value.copied());
        }
        for (path, content) in self.files.iter().filter(|(path, _)| reads.files.contains(*path)) {
            own.files.insert(path.clone(), content.copied());
        }
        own
    }

    /// Copies the part that an identity of kind `oidc` reads.
    #[must_use]
    pub fn of_identity(&self, identity: &OidcIdentity) -> Self {
        self.copied(&client_reads(&identity.client))
    }

    /// Looks a variable up; an empty one counts as absent.
    pub(crate) fn variable(&self, name: &str) -> Option<&Secret<String>> {
        self.environment.get(name).filter(|value| !value.is_empty())
    }

    /// Looks a file up; an unreadable one is told with its reason.
    pub(crate) fn file(&self, path: &Path) -> Result<Option<&Secret<String>>, String> {
        match self.unreadable.get(path) {
            Some(reason) => Err(reason.clone()),
            None => Ok(self.files.get(path)),
        }
    }
}

/// Lists the environment variables and files that a route reads from the caller.
#[must_use]
pub fn caller_reads(route: &Route<'_>) -> CallerReads {
    let mut reads = CallerReads::default();
    let fallback = route.fallback();
    for (_, identity) in route.identities().chain(fallback.iter().flat_map(Route::identities)) {
        add_identity(&mut reads, identity);
    }
    for part in [Some(*route), route.token(), route.plan(), fallback].into_iter().flatten() {
        add_issuer(&mut reads, part.issuer);
        part.certificate().iter().for_each(|certificate| add_issuer(&mut reads, certificate.issuer));
    }
    reads
}

/// Lists the environment variables and files that an identity reads from the caller.
#[must_use]
pub fn identity_reads(identity: &Identity) -> CallerReads {
    let mut reads = CallerReads::default();
    add_identity(&mut reads, identity);
    reads
}

fn add_identity(reads: &mut CallerReads, identity: &Identity) {
    match identity {
        Identity::Env { variable } => {
            reads.environment.insert(variable.clone());
        }
        Identity::File { path } | Identity::Kubernetes { path, .. } => {
            reads.files.insert(path.clone());
        }
        Identity::Spiffe(spiffe) => add_workload(reads, &spiffe.workload),
        Identity::ClientCredentials(client) => add_client(reads, &client.client),
        Identity::Oidc(person) => add_client(reads, &person.client),
        Identity::AwsCaller(caller) => {
            let (variables, files) = crate::aws::identity_request::reads(caller);
            reads.environment.extend(variables.into_iter().map(str::to_owned));
            reads.files.extend(files.into_iter().cloned());
        }
        Identity::Workload(workload) => workload::add_reads(reads, workload),
        _ => {}
    }
}

fn add_issuer(reads: &mut CallerReads, issuer: &Issuer) {
    match issuer {
        Issuer::VaultPki(pki) => add_login(reads, &pki.login),
        Issuer::Est(est) => add_est(reads, &est.auth),
        Issuer::VaultToken(token) => add_login(reads, &token.login),
        Issuer::VaultSecret(secret) => add_login(reads, &secret.login),
        Issuer::Spiffe(workload) => add_workload(reads, workload),
        Issuer::GithubApp(app) => add_source(reads, &app.app_key),
        Issuer::TokenExchange(exchange) => {
            add_client(reads, &exchange.client);
            exchange.actor_token.iter().for_each(|source| add_source(reads, source));
        }
        _ => {}
    }
}

fn add_est(reads: &mut CallerReads, auth: &EstAuth) {
    match auth {
        EstAuth::Basic { password, .. } => add_source(reads, password),
        EstAuth::Cert { certificate, key } => {
            add_source(reads, certificate);
            add_source(reads, key);
        }
        _ => {}
    }
}

fn add_login(reads: &mut CallerReads, login: &VaultLogin) {
    match &login.auth {
        VaultAuth::AppRole { secret_id, .. } => add_source(reads, secret_id),
        VaultAuth::Token { token } => add_source(reads, token),
        VaultAuth::Cert { certificate, key, .. } => {
            add_source(reads, certificate);
            add_source(reads, key);
        }
        _ => {}
    }
}

/// Lists what a client's proof reads from the caller.
pub(crate) fn client_reads(client: &ClientAuthentication) -> CallerReads {
    let mut reads = CallerReads::default();
    add_client(&mut reads, client);
    reads
}

fn add_client(reads: &mut CallerReads, client: &ClientAuthentication) {
    match client {
        ClientAuthentication::Basic { secret, .. } | ClientAuthentication::Post { secret, .. } => {
            add_source(reads, secret);
        }
        ClientAuthentication::PrivateKeyJwt { key, .. } => add_source(reads, key),
        _ => {}
    }
}

/// The Workload API's address, where the settings have none.
fn add_workload(reads: &mut CallerReads, workload: &SpiffeWorkload) {
    if workload.socket.is_none() {
        reads.environment.insert(SPIFFE_ENDPOINT_SOCKET.to_owned());
    }
}

fn add_source(reads: &mut CallerReads, source: &Source) {
    match source {
        Source::Env(name) => {
            reads.environment.insert(name.clone());
        }
        Source::File(path) => {
            reads.files.insert(path.clone());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_settings::{Deliver, Host, Peer, Settings, VaultToken};
    use credmint_vocabulary::Hostname;

    fn settings() -> Settings {
        let login = VaultLogin {
            address: "https://vault.example".into(),
            namespace: None,
            auth: VaultAuth::AppRole {
                mount: "approle".into(),
                role_id: "r".into(),
                secret_id: Source::Env("SECRET_ID".into()),
            },
            peer: Peer::default(),
        };
        let host = Host {
            identities: vec!["job".into(), "pod".into()],
            issuer: "vault".into(),
            token_issuer: None,
            deliver: Deliver::Token,
            upstream: None,
            peer: Peer::default(),
            minimum_life: None,
            store: credmint_settings::Store::default(),
            confirm: false,
            policy: credmint_settings::Policy::default(),
        };
        let mut settings = Settings::default();
        settings.identities.insert("job".into(), Identity::Env { variable: "WORKLOAD_TOKEN".into() });
        settings.identities.insert("pod".into(), Identity::Kubernetes { path: "/var/token".into(), audience: None });
        settings.identities.insert("other".into(), Identity::Env { variable: "OTHER".into() });
        settings.issuers.insert("vault".into(), Issuer::VaultToken(Box::new(VaultToken { login })));
        settings.hosts.insert(Hostname::from_comparison_form("a.example").unwrap(), host);
        settings
    }

    #[test]
    fn a_route_reads_what_its_identities_and_its_issuer_name_and_nothing_else() {
        let settings = settings();
        let hostname = Hostname::from_comparison_form("a.example").unwrap();
        let reads = caller_reads(&settings.host_route(&hostname).unwrap());
        assert_eq!(reads.environment, ["SECRET_ID", "WORKLOAD_TOKEN"].map(String::from).into());
        assert_eq!(reads.files, [PathBuf::from("/var/token")].into());
    }

    #[test]
    fn the_key_of_a_github_app_is_the_callers() {
        let text = "[issuer.app]\nkind = \"github-app\"\napp_id = \"1\"\ninstallation_id = \"2\"\napp_key = { env = \"KEY\" }\n";
        let settings = credmint_settings::read(&[("config.toml".into(), text.into())]).unwrap();
        let mut reads = CallerReads::default();
        settings.issuers.values().for_each(|issuer| add_issuer(&mut reads, issuer));
        assert_eq!(reads.environment, ["KEY".to_owned()].into());
    }

    #[test]
    fn an_empty_variable_is_absent() {
        let mut caller = Caller::default();
        caller.environment.insert("EMPTY".into(), Secret::from(""));
        assert!(caller.variable("EMPTY").is_none() && caller.variable("NONE").is_none());
    }
}
