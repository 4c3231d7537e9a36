//! What a name on the command line leads to: a provider of the settings, or a host that gets its token itself.
//! A name comes in, the route's name and what its kind of credential is called elsewhere go out.
//! Reads the settings; asks nobody.

use credmint_settings::{Deliver, Issuer, Provider, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname, RouteName};

use crate::{enrol, people_host, setup};

/// What is going to be printed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// What the agent is asked for.
    pub(super) name: RouteName,
    /// Variable under which its token is known.
    variable: Option<String>,
    /// Host that a client of docker would name.
    server: Option<String>,
}

/// Finds it.
pub(super) fn find(text: &str) -> Result<Printed, Failure> {
    find_in(&enrol::settings()?, text)
}

fn find_in(settings: &Settings, text: &str) -> Result<Printed, Failure> {
    let bare = text.strip_prefix("provider/").unwrap_or(text);
    if let Some((name, provider)) = settings.provider(bare) {
        return of_provider(settings, bare, name, provider);
    }
    let host = people_host::read(text).ok().map(|host| host.hostname).filter(|_| bare == text);
    let Some(host) = host else { return Err(unknown(&format!("provider/{bare}"))) };
    match settings.provider(host.as_str()) {
        Some((name, provider)) => of_provider(settings, host.as_str(), name, provider),
        None => of_host(settings, host, text),
    }
}

fn of_provider(settings: &Settings, asked: &str, name: &str, provider: &Provider) -> Result<Printed, Failure> {
    let name = RouteName::provider(name).map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))?;
    let route = settings.route(&name);
    let issuer = route.map(|route| route.token().map_or(route.issuer, |token| token.issuer));
    let own = || provider.hosts.first().map(|host| host.as_str().to_owned());
    let server = provider.hosts.iter().find(|host| host.as_str() == asked).map(|host| host.as_str().to_owned());
    Ok(Printed { name, variable: issuer.and_then(known_as).map(str::to_owned), server: server.or_else(own) })
}

fn of_host(settings: &Settings, host: Hostname, text: &str) -> Result<Printed, Failure> {
    let Some(route) = settings.host_route(&host) else {
        let provider = !host.as_str().contains(['.', ':']);
        return Err(unknown(&if provider { format!("provider/{text}") } else { host.to_string() }));
    };
    if route.host.deliver == Deliver::Bridge {
        let what =
            format!("the credential of {host} stays in the agent: it is used over the bridge, and not handed out");
        return Err(Failure::new(FailureKind::Settings, what).hint(
            "credmint exec -- PROGRAM reaches the host; to have it handed out: a table [provider.NAME] with the same issuer",
        ));
    }
    let (variable, server) = (Some(setup::token_variable(&host)), Some(host.as_str().to_owned()));
    Ok(Printed { name: host.into(), variable, server })
}

/// Names the variable that the Terraform provider for this kind of token reads.
fn known_as(issuer: &Issuer) -> Option<&'static str> {
    match issuer {
        Issuer::GoogleSts(_) => Some("GOOGLE_OAUTH_ACCESS_TOKEN"),
        Issuer::KubernetesToken(_) => Some("KUBE_TOKEN"),
        Issuer::GithubApp(_) => Some("GITHUB_TOKEN"),
        Issuer::VaultToken(_) => Some("VAULT_TOKEN"),
        _ => None,
    }
}

/// Says that the settings have no such name.
pub(super) fn unknown(name: &str) -> Failure {
    Failure::new(FailureKind::Settings, format!("the settings have no {name}")).hint(format!("credmint explain {name}"))
}

impl Printed {
    /// Chooses the variable of a token: the given one, else the one it is known under. Keys and certificates need none.
    pub(super) fn variable(&self, given: Option<&str>) -> Option<String> {
        given.map(str::to_owned).or_else(|| self.variable.clone())
    }

    /// Gives the server that a client of docker would ask about.
    pub(super) fn server(&self) -> Result<String, Failure> {
        self.server.as_ref().map(|host| format!("https://{host}")).ok_or_else(|| {
            Failure::new(FailureKind::Settings, format!("{} has no host, and docker's form names one", self.name))
                .hint("add to its table: hosts = [\"registry.example\"]")
        })
    }

    /// Says why there is no answer in this form, and which form there is.
    pub(super) fn refuse(&self, why: &str, usual: &str) -> Failure {
        let hint = if why.ends_with("known by a variable") {
            format!("credmint print {} --format env --variable NAME", self.name)
        } else {
            format!("credmint print {} --format {usual}", self.name)
        };
        Failure::new(FailureKind::Settings, format!("no answer for {}: {why}", self.name)).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = r#"
        [identity.job]
        kind = "env"
        variable = "T"
        [issuer.pass]
        kind = "oidc"
        [issuer.ca]
        kind = "local-ca"
        [issuer.cluster]
        kind = "kubernetes-token"
        address = "https://k.example"
        namespace = "n"
        service_account = "s"
        [host."token.example"]
        identity = "job"
        issuer = "pass"
        [host."bridge.example"]
        identity = "job"
        issuer = "ca"
        deliver = "bridge"
        [provider.prod]
        identity = "job"
        issuer = "cluster"
        [provider.lab]
        identity = "job"
        issuer = "pass"
        hosts = ["gitlab.example", "registry.example:8443"]
    "#;

    fn found(text: &str) -> Result<(String, Option<String>, Option<String>), Failure> {
        let settings = credmint_settings::read(&[("t".into(), SETTINGS.into())]).expect("settings");
        find_in(&settings, text).map(|printed| (printed.name.to_string(), printed.variable, printed.server))
    }

    #[test]
    fn a_name_is_a_provider_one_of_its_hosts_or_a_host_that_gets_its_token() {
        let some = |text: &str| Some(text.to_owned());
        for text in ["prod", "provider/prod"] {
            assert_eq!(found(text), Ok(("provider/prod".into(), some("KUBE_TOKEN"), None)));
        }
        assert_eq!(found("lab"), Ok(("provider/lab".into(), None, some("gitlab.example"))));
        let by_host = Ok(("provider/lab".into(), None, some("registry.example:8443")));
        assert_eq!(found("registry.example:8443"), by_host);
        assert_eq!(found("https://Registry.Example:8443/"), by_host);
        let host = Ok(("token.example".into(), some("TF_TOKEN_token_example"), some("token.example")));
        assert_eq!(found("token.example"), host);
    }

    #[test]
    fn what_cannot_be_handed_out_is_refused_with_the_next_step() {
        let failure = |text: &str| found(text).expect_err(text);
        assert_eq!(failure("staging").what, "the settings have no provider/staging");
        assert_eq!(failure("provider/token.example").what, "the settings have no provider/token.example");
        assert_eq!(failure("other.example").hint.as_deref(), Some("credmint explain other.example"));
        assert!(failure("bridge.example").what.contains("stays in the agent"));
        assert_eq!(failure("a b").what, "the settings have no provider/a b");
    }
}
