//! The proxy of a run, as its program sees it: an address with a password, trust anchors, and what is not sent there.
//! The run and the environment that we were given come in, variables go out; what they replace is kept in one more.
//! Reads the trust anchors that the program would have, and writes them, with one more, into the run's directory.

use std::path::{Path, PathBuf};

use credmint_agent_protocol::ProxyWanted;
use credmint_local_machine::{environment, files};
use credmint_vocabulary::{Failure, FailureKind, NoProxy, Secret};

use super::open_run::{OpenProxy, OpenRun};
use super::variables::Variable;

/// Says how the caller reaches other hosts: by Go's rule the first of two spellings that is set.
pub(crate) fn wanted() -> ProxyWanted {
    let outer = first_of(&HTTPS_PROXY).map(|value| Secret::new(value).into());
    ProxyWanted { outer, no_proxy: first_of(&NO_PROXY).unwrap_or_default() }
}

/// Tells whether the caller's own proxy is of a kind that tunnels can be asked of.
pub(crate) fn can_pass_on() -> bool {
    first_of(&HTTPS_PROXY).is_none_or(|value| value.starts_with("http://") || !value.contains("://"))
}

/// Makes the variables.
pub(crate) fn variables(open: &OpenRun, proxy: &OpenProxy) -> Result<Vec<Variable>, Failure> {
    let path = open.directory().join("roots.pem");
    let unwritten = |error| Failure::new(FailureKind::Settings, format!("{}: {error}", path.display()));
    files::write_private(&path, bundle(&proxy.certificate)?.as_bytes()).map_err(unwritten)?;
    let address = Secret::new(format!("http://credmint:{}@127.0.0.1:{}", proxy.token.expose(), open.port));
    let mut variables = vec![Variable::open(SSL_CERT_FILE, path.display().to_string())];
    variables.extend(HTTPS_PROXY.map(|name| Variable::secret(name, address.copied())));
    variables.extend(NO_PROXY.into_iter().filter_map(|name| Some((name, environment::read(name)?))).map(
        |(name, text)| {
            let hosts: Vec<_> = open.hosts.iter().map(|host| (host.hostname.name(), host.hostname.port())).collect();
            Variable::open(name, NoProxy::of(&text).without(&hosts))
        },
    ));
    variables
        .extend(environment::before_exec().map(|before| Variable::secret(environment::CREDMINT_BEFORE_EXEC, before)));
    Ok(variables)
}

/// Exempts the run's own port where something asks there: Go never asks a proxy for loopback, other languages do, and it would see the bearer.
pub(crate) fn exempt_endpoints(variables: &mut Vec<Variable>) {
    let is_endpoint = |variable: &Variable| {
        !HTTPS_PROXY.contains(&variable.name()) && variable.value().is_some_and(|text| text.contains(ENDPOINT))
    };
    let is_said = |name: &&str| variables.iter().any(|own| own.name() == *name) || environment::read(name).is_some();
    if !variables.iter().any(is_endpoint) || !PROXIES.iter().any(is_said) {
        return;
    }
    for name in NO_PROXY {
        let own = variables.iter().find(|own| own.name() == name).and_then(|own| own.value().map(str::to_owned));
        let before = own.or_else(|| environment::read(name)).or_else(|| first_of(&NO_PROXY));
        variables.retain(|own| own.name() != name);
        variables.push(Variable::open(name, exempting(before.as_deref().unwrap_or_default())));
    }
}

fn exempting(before: &str) -> String {
    if before.trim().is_empty() { LOOPBACK.to_owned() } else { format!("{before},{LOOPBACK}") }
}

/// Says what the variables are, where there is no run.
pub(crate) fn described() -> impl Iterator<Item = (&'static str, &'static str)> {
    let address = HTTPS_PROXY.map(|name| (name, "http://credmint:TOKEN@127.0.0.1:PORT, the proxy of a run"));
    let roots = (SSL_CERT_FILE, "a file of a run: the authority of its proxy, and the trust anchors that you have");
    let is_set = |name: &&str| environment::read(name).is_some();
    let exempted = NO_PROXY.into_iter().filter(is_set).map(|name| (name, "yours, without what exempts those hosts"));
    address.into_iter().chain([roots]).chain(exempted)
}

/// Says that the agent is older than we are.
pub(crate) fn unknown_to_agent() -> Failure {
    let what = "the agent that runs makes no proxy of a run";
    Failure::new(FailureKind::Settings, what).hint("credmint agent stop (an agent of another version is running)")
}

/// Writes the authority of the run, and the anchors that the program would have without us: of many programs the file replaces all.
fn bundle(certificate: &str) -> Result<String, Failure> {
    let own = environment::read(SSL_CERT_FILE).map(PathBuf::from);
    let candidates = own.map_or_else(|| SYSTEM.iter().map(PathBuf::from).collect(), |path| vec![path]);
    let found = candidates.iter().find_map(|path| anchors(path).transpose()).transpose()?;
    Ok(format!("{certificate}\n{}", found.unwrap_or_default()))
}

/// Reads the certificates of a file; `None` if it is not there.
fn anchors(path: &Path) -> Result<Option<String>, Failure> {
    let unread = |error: &dyn std::fmt::Display| {
        Failure::new(FailureKind::Settings, format!("the trust anchors in {}: {error}", path.display()))
            .hint("see SSL_CERT_FILE, or credmint exec --carrier host -- CMD")
    };
    let bytes = files::read_bounded(path, LARGEST).map_err(|error| unread(&error))?;
    Ok(bytes.map(|bytes| certificates(&String::from_utf8_lossy(&bytes))))
}

/// Keeps the certificates: people have keys in such files, too.
fn certificates(text: &str) -> String {
    let (mut kept, mut is_inside) = (String::with_capacity(text.len()), false);
    for line in text.lines() {
        is_inside |= line.starts_with("-----BEGIN ") && line.trim_end().ends_with("CERTIFICATE-----");
        if is_inside {
            kept.push_str(line);
            kept.push('\n');
        }
        is_inside &= !line.starts_with("-----END ");
    }
    kept
}

fn first_of(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| environment::read(name))
}

/// Go's order.
pub(crate) const HTTPS_PROXY: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
pub(crate) const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// What clients of other languages read, too.
const PROXIES: [&str; 6] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
const LOOPBACK: &str = "127.0.0.1";
const ENDPOINT: &str = "http://127.0.0.1:";
pub(crate) const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
/// Where systems keep all their anchors in one file: Debian, Fedora, openSUSE, Red Hat, Alpine and the BSDs, macOS.
const SYSTEM: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];
const LARGEST: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_own_port_is_exempted_where_something_asks_there() {
        let endpoint =
            || Variable::open("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:7/.provider/aws-container");
        let proxy = || Variable::open("HTTPS_PROXY", "http://credmint:x@127.0.0.1:7");
        let exempted = |mut variables: Vec<Variable>| {
            exempt_endpoints(&mut variables);
            let no_proxy = |own: &&Variable| own.name() == "no_proxy";
            let found: Vec<_> =
                variables.iter().filter(no_proxy).filter_map(|own| own.value().map(str::to_owned)).collect();
            assert!(found.len() < 2);
            found.first().cloned()
        };
        assert_eq!(exempted(vec![proxy()]), None);
        assert!(exempted(vec![endpoint(), proxy()]).is_some_and(|text| text.ends_with("127.0.0.1")));
        let own = Variable::open("no_proxy", "a.example");
        assert_eq!(exempted(vec![endpoint(), proxy(), own]).as_deref(), Some("a.example,127.0.0.1"));
    }

    #[test]
    fn of_a_file_of_anchors_only_certificates_are_kept() {
        let pem = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        let text = format!("# words\n{}{}{}", pem("CERTIFICATE"), pem("PRIVATE KEY"), pem("TRUSTED CERTIFICATE"));
        assert_eq!(certificates(&text), format!("{}{}", pem("CERTIFICATE"), pem("TRUSTED CERTIFICATE")));
        assert_eq!(certificates("words"), "");
    }
}
