//! Terraform's `http` state backend: where its addresses lead to a host of the run, they lead to the bridge.
//! The caller's addresses come in, variables go out; or PEM of a host whose settings hand it out, for who asked for that.
//! The token is a password, never part of an address: Terraform prints addresses. Terraform `backend/remote-state/http`.

use credmint_agent_protocol::{Answer, Ask, Credential};
use credmint_local_machine::environment;
use credmint_settings::{Deliver, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use http::Uri;

use super::variables::Variable;
use crate::setup::is_name_of;
use crate::{agent, people_host};

/// Finds the host of a list that an address leads to, and the path there.
pub(crate) fn led<'a, T>(address: &str, hosts: &'a [T], name: impl Fn(&T) -> &Hostname) -> Option<(&'a T, String)> {
    let uri: Uri = address.parse().ok()?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"))?;
    let host = hosts.iter().find(|host| is_name_of(authority.as_str(), name(host)))?;
    Some((host, uri.path_and_query()?.to_string()))
}

/// Gives the caller's own addresses.
pub(crate) fn addresses() -> Vec<(&'static str, String)> {
    ADDRESSES.into_iter().filter_map(|name| Some((name, environment::read(name)?))).collect()
}

/// Tells whether the caller's environment names a state.
pub(crate) fn is_used() -> bool {
    !addresses().is_empty()
}

/// Says where Terraform goes without the bridge, though the settings know the host: it is not obvious why.
pub(crate) fn not_taken(settings: &Settings) -> Vec<String> {
    let hosts: Vec<_> = settings.hosts.iter().collect();
    let reason = |name: &str, address: &str| {
        let ((host, own), _) = led(address, &hosts, |(name, _)| *name)?;
        let (why, remedy) = match own.deliver {
            Deliver::Bridge if !own.confirm => return None,
            Deliver::Bridge => ("is asked about at each use (confirm = true)", "leave `confirm` out for it".to_owned()),
            Deliver::Token => ("has deliver = \"token\"", "deliver = \"bridge\" leads there".to_owned()),
            _ => ("has deliver = \"inline\"", format!("credmint exec --env={host} hands Terraform its certificate")),
        };
        Some(format!("{name} leads to {host}, which {why}: Terraform goes there without the bridge; hint: {remedy}"))
    };
    let mut all: Vec<String> = addresses().iter().filter_map(|(name, address)| reason(name, address)).collect();
    // The lock addresses lead to the same host: said once.
    all.truncate(1);
    all
}

/// Refuses what would go to the wrong place: Terraform sends one name and password wherever its addresses lead.
pub(crate) fn check(led: &[Option<&Hostname>]) -> Result<(), Failure> {
    let mut own = led.iter().flatten();
    let Some(first) = own.next() else { return Ok(()) };
    if led.iter().any(|host| *host != Some(*first)) {
        let what = format!("TF_HTTP_ADDRESS and its lock addresses lead to {first} and elsewhere");
        return Err(Failure::new(FailureKind::Settings, what)
            .hint("let all of them lead to one host: Terraform sends the same password to each"));
    }
    match BASIC.into_iter().find(|name| environment::read(name).is_some()) {
        None => Ok(()),
        Some(name) => {
            let what = format!("{name} is set, and the bridge has no place for it on the way to {first}");
            Err(Failure::new(FailureKind::Settings, what)
                .hint(format!("unset {name}, or go there without the bridge: credmint exec --env={first}")))
        }
    }
}

/// Gets the client certificate and key of a host, for Terraform itself.
pub(crate) fn pem(named: &str) -> Result<Vec<Variable>, Failure> {
    let host = if named.is_empty() { host_of_address()? } else { people_host::read(named)?.hostname };
    match agent::ask_or_start(Ask::Get(agent::about(&host)))? {
        Answer::Credential(credential) => of_credential(&host, credential),
        other => Err(agent::unexpected(&other)),
    }
}

fn of_credential(host: &Hostname, credential: Credential) -> Result<Vec<Variable>, Failure> {
    let Credential { client_certificate_pem, client_private_key_pem, client_ca_certificate_pem, .. } = credential;
    let (Some(certificate), Some(key)) = (client_certificate_pem, client_private_key_pem) else {
        let what = format!("the settings hand out no certificate and key of {host}");
        return Err(Failure::new(FailureKind::Settings, what).hint(format!(
            "deliver = \"inline\" in [host.\"{host}\"], or leave --env out: then the key stays in the agent"
        )));
    };
    let mut variables = vec![
        Variable::open("TF_HTTP_CLIENT_CERTIFICATE_PEM", certificate),
        Variable::secret("TF_HTTP_CLIENT_PRIVATE_KEY_PEM", key.into_secret()),
    ];
    variables.extend(client_ca_certificate_pem.map(|ca| Variable::open("TF_HTTP_CLIENT_CA_CERTIFICATE_PEM", ca)));
    Ok(variables)
}

fn host_of_address() -> Result<Hostname, Failure> {
    let unknown = || {
        let what = "--env names no host, and TF_HTTP_ADDRESS leads to none";
        Failure::new(FailureKind::Usage, what).hint("credmint exec --env=HOST -- CMD")
    };
    let address = environment::read("TF_HTTP_ADDRESS").ok_or_else(unknown)?;
    let uri: Uri = address.parse().map_err(|_| unknown())?;
    people_host::read(uri.authority().ok_or_else(unknown)?.as_str()).map(|host| host.hostname)
}

const ADDRESSES: [&str; 3] = ["TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS"];
const BASIC: [&str; 2] = ["TF_HTTP_USERNAME", "TF_HTTP_PASSWORD"];

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Vec<Hostname> {
        ["state.corp.example", "other.example:8443"]
            .map(|name| Hostname::from_comparison_form(name).expect(name))
            .into()
    }

    #[test]
    fn an_address_leads_to_the_host_that_it_names_and_no_other() {
        let hosts = hosts();
        let of = |address: &str| led(address, &hosts, |host| host).map(|(host, path)| (host.to_string(), path));
        let host = || "state.corp.example".to_owned();
        assert_eq!(of("https://state.corp.example/a/b?c=d"), Some((host(), "/a/b?c=d".to_owned())));
        assert_eq!(of("https://STATE.corp.example:443"), Some((host(), "/".to_owned())));
        assert_eq!(of("https://other.example:8443/x").map(|(host, _)| host), Some("other.example:8443".to_owned()));
        for address in [
            "http://state.corp.example/",
            "https://state.corp.example:8443/",
            "https://state.corp.example.evil.example/",
            "https://me:pass@state.corp.example/",
            "state.corp.example",
            "",
        ] {
            assert_eq!(of(address), None, "{address}");
        }
    }

    #[test]
    fn addresses_that_lead_to_two_hosts_are_refused() {
        let hosts = hosts();
        let [first, second] = [hosts.first(), hosts.get(1)];
        assert!(check(&[None, None]).is_ok() && check(&[]).is_ok() && check(&[first, first]).is_ok());
        assert!(check(&[first, second]).is_err() && check(&[first, None]).is_err() && check(&[None, first]).is_err());
    }
}
