//! What is measured: a registry that wants a client certificate, our agent and two other proxies before it.
//! The executables that `tests/bench/run` built come in, ports go out; what the registry saw can be asked.
//! All of it ends with the bench.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use credmint_test_kit::certificates::{Authority, Identity};
use credmint_test_kit::home::Home;
use credmint_test_kit::peer::{self, Peer};
use credmint_test_kit::random;

/// The registry's name.
pub(crate) const HOST: &str = "registry.corp.example";
/// The path of a small answer.
pub(crate) const ANSWER: &str = "/v1/modules/corp/network/aws/versions";
/// Names the archive in a header field.
pub(crate) const DOWNLOAD: &str = "/v1/modules/corp/network/aws/1.0.0/download";
/// The path of 1 GiB of nothing.
pub(crate) const ARCHIVE: &str = "/archive.zip";
/// Its size.
pub(crate) const ARCHIVE_SIZE: u64 = 1 << 30;

/// Everything that runs.
pub(crate) struct Place {
    pub(crate) registry_port: u16,
    pub(crate) bridge_port: u16,
    pub(crate) nginx_port: u16,
    pub(crate) stunnel_port: u16,
    pub(crate) session_token: String,
    /// The authority of the registry's own certificate.
    pub(crate) authority: String,
    /// Who we are without a proxy.
    pub(crate) client: Identity,
    home: Home,
    registry: Peer,
    _rivals: [Peer; 2],
}

/// The connections that the registry had of one road.
pub(crate) struct Connections {
    pub(crate) subject: String,
    pub(crate) requests: usize,
    pub(crate) opened: usize,
    pub(crate) resumed: usize,
    pub(crate) protocol: String,
}

impl Place {
    /// Starts all of it.
    pub(crate) fn build() -> Self {
        let (servers, clients) = (Authority::new("Corp Servers"), Authority::new("Corp Clients"));
        let [registry_port, bridge_port, nginx_port, stunnel_port] = [(); 4].map(|()| random::free_port());
        let home = Home::new();
        let ca = home.write("ca.pem", servers.certificate());
        write_settings(&home, &ca, registry_port, bridge_port);
        let anchor = credmint(&home, "BENCH_CREDMINT", &["agent", "anchor", HOST]);
        let trusted = format!("{}{anchor}", clients.certificate());
        let registry = registry(registry_port, &servers, &trusted);
        let answer = credmint(&home, "BENCH_HELPER", &["get", HOST]);
        let token = answer.split('"').nth(3).expect("a token").to_owned();
        let rival = |name: &str, text: &str, port: u16| {
            let identity = clients.client(name);
            let text = text.replace("@upstream@", &registry_port.to_string());
            start(
                name,
                &text,
                port,
                &[
                    ("ca.pem", servers.certificate()),
                    ("client.pem", &identity.certificate),
                    ("client.key", &identity.key),
                ],
            )
        };
        let rivals = [
            rival("nginx", include_str!("nginx-proxy.conf"), nginx_port),
            rival("stunnel", include_str!("stunnel.conf"), stunnel_port),
        ];
        Self {
            registry_port,
            bridge_port,
            nginx_port,
            stunnel_port,
            session_token: token,
            authority: servers.certificate().to_owned(),
            client: clients.client("no proxy"),
            home,
            registry,
            _rivals: rivals,
        }
    }

    /// Gives the agent's process id.
    pub(crate) fn agent(&self) -> u32 {
        self.home.agent().pid
    }

    /// Tells whose connections the registry had.
    pub(crate) fn connections(&self) -> Vec<Connections> {
        std::thread::sleep(Duration::from_millis(500));
        let log = fs::read_to_string(self.registry.path().join("access.log")).expect("the registry's log");
        let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split('|').collect()).collect();
        let mut all: Vec<Connections> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for line in &lines {
            let [subject, connection, reused, protocol, _] = line[..] else { continue };
            let at = all.iter().position(|one| one.subject == subject).unwrap_or(all.len());
            if at == all.len() {
                let (subject, protocol) = (subject.to_owned(), protocol.to_owned());
                all.push(Connections { subject, requests: 0, opened: 0, resumed: 0, protocol });
            }
            let Some(one) = all.get_mut(at) else { continue };
            one.requests += 1;
            if seen.insert(connection) {
                one.opened += 1;
                one.resumed += usize::from(reused == "r");
            }
        }
        all
    }
}

fn write_settings(home: &Home, ca: &Path, registry_port: u16, bridge_port: u16) {
    home.write_settings(&format!(
        "[bridge]\nport = {bridge_port}\n[issuer.lab]\nkind = \"local-ca\"\ncommon_name = \"the bridge\"\n\
         [host.\"{HOST}\"]\nissuer = \"lab\"\nupstream = \"https://127.0.0.1:{registry_port}\"\nca = \"{}\"\n",
        ca.display()
    ));
}

fn credmint(home: &Home, variable: &str, arguments: &[&str]) -> String {
    let program = std::env::var(variable).unwrap_or_else(|_| panic!("{variable}: use tests/bench/run"));
    let run = home.run(PathBuf::from(program)).args(arguments).output();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

fn registry(port: u16, servers: &Authority, trusted: &str) -> Peer {
    let server = servers.server(&[HOST]);
    let files = [("server.pem", server.certificate.as_str()), ("server.key", &server.key), ("clients.pem", trusted)];
    start("nginx", include_str!("nginx-registry.conf"), port, &files)
}

/// Starts a server in a directory of its own.
fn start(program: &str, configuration: &str, port: u16, files: &[(&str, &str)]) -> Peer {
    let directory = peer::directory();
    let place = directory.path();
    for (name, text) in files {
        fs::write(place.join(name), text).expect("a file");
    }
    write_site(&place.join("site"));
    fs::write(place.join("configuration"), configuration.replace("@port@", &port.to_string())).expect("a file");
    let path = place.display().to_string();
    let mut command = Command::new(program);
    match program {
        "nginx" => command.args(["-p", &path, "-c", "configuration", "-e", "error.log"]),
        _ => command.arg("configuration").current_dir(place),
    };
    let mut peer = Peer::start(program, directory, &mut command);
    assert!(peer.wait_for_listener(port), "{program}: {}", peer.log());
    peer
}

/// Writes what the registry has: a list of versions, and an archive that takes no room on the disk.
fn write_site(site: &Path) {
    let versions = site.join(ANSWER.trim_start_matches('/'));
    fs::create_dir_all(versions.parent().expect("a directory")).expect("directories");
    let list: Vec<String> = (0..24).map(|minor| format!("{{\"version\":\"1.{minor}.0\"}}")).collect();
    fs::write(versions, format!("{{\"modules\":[{{\"versions\":[{}]}}]}}", list.join(","))).expect("a file");
    let archive = fs::File::create(site.join(ARCHIVE.trim_start_matches('/'))).expect("a file");
    archive.set_len(ARCHIVE_SIZE).expect("1 GiB");
}
