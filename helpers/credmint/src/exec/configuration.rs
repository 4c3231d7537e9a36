//! The CLI configuration of a run: the person's own, whole, and a `host` block for each host of the run.
//! The files that the tool would read come in, one text goes out; nothing secret of ours is in it.
//! Reads files and changes none. Terraform `cliconfig.go`: who names a file by `TF_CLI_CONFIG_FILE` gets no other.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use credmint_vocabulary::{Failure, FailureKind, Hostname, printable};

use super::carrier::Ways;
use super::installation::{self, Installation};
use super::json;
use super::open_run::OpenRun;
use crate::command_line::Tool;
use crate::hcl::{Item, Malformed, items};
use crate::people_host;
use crate::setup::{Places, Services, is_name_of, read, services_in, usual_tool};

/// Makes the text for a run.
pub(crate) fn for_run(open: &OpenRun, ways: &Ways, program: &OsStr) -> Result<String, Failure> {
    let hosts = open.hosts.iter().map(|host| {
        let usual = || Services::on_bridge(&host.hostname, open.port);
        let offered = host.services.as_ref().map(|offered| Services::offered(&host.hostname, open.port, offered));
        let (services, has_block) = (offered.unwrap_or_else(usual), ways.has_block(&host.hostname));
        Led { hostname: &host.hostname, services, is_on_bridge: true, has_block }
    });
    let registries = open.registries.iter().map(|registry| Led {
        hostname: &registry.hostname,
        services: Services::of_registry(&registry.hostname),
        is_on_bridge: false,
        has_block: true,
    });
    let text =
        merged(&sources(program)?, hosts.chain(registries).collect(), &|host| ways.mirrors.address(host, open.port))?;
    Ok(ways.mirrors.in_place(text))
}

/// A host that leads elsewhere than its name in a run.
struct Led<'a> {
    hostname: &'a Hostname,
    services: Services,
    /// Whether all of it leads to the bridge, or its providers alone.
    is_on_bridge: bool,
    /// Whether a `host` block leads there; if not, the person's own is left out all the same.
    has_block: bool,
}

/// Gives the address for providers of a host that a mirror stands for.
type Providers<'a> = dyn Fn(&Hostname) -> Option<String> + 'a;

/// Lists the hosts whose services stand in the person's own configuration, on a bridge.
pub(crate) fn described(program: &OsStr) -> Result<Vec<String>, Failure> {
    let mut hosts = Vec::new();
    for (path, source) in sources(program)? {
        let source = in_hcl(&path, &source)?;
        let found = items(&source).map_err(|error| malformed(&path, &source, error))?;
        let blocks = found.iter().filter_map(|item| described_by(source.get(item.span.clone())?, item));
        hosts.extend(blocks);
    }
    Ok(hosts)
}

fn described_by(text: &str, item: &Item) -> Option<String> {
    let [kind, label] = item.words.as_slice() else { return None };
    let hostname = people_host::read(label).ok().filter(|_| kind == "host")?.hostname;
    services_in(text)?.is_on_bridge(&hostname).then(|| hostname.to_string())
}

/// Tells where the tool would get its providers.
pub(crate) fn installation(program: &OsStr) -> Result<Option<Installation>, Failure> {
    Ok(installation::installation(&merged(&sources(program)?, Vec::new(), &|_| None)?))
}

/// Leaves to the run around this one the hosts that a mirror stands for in it: the mirror is known to that run alone, which goes on
/// longer than this one, and its session token is in the environment.
pub(crate) fn leave_to_outer_run(open: &mut OpenRun, program: &OsStr) -> Result<(), Failure> {
    let text = merged(&sources(program)?, Vec::new(), &|_| None)?;
    let found = items(&text).unwrap_or_default();
    let is_mirrored = |host: &Hostname| {
        found.iter().any(|item| {
            let is_its = matches!(item.words.as_slice(), [kind, label] if kind == "host" && is_name_of(label, host));
            let services = services_in(text.get(item.span.clone()).unwrap_or_default()).filter(|_| is_its);
            services.is_some_and(|services| services.leads_to_mirror(host))
        })
    };
    open.hosts.retain(|host| !is_mirrored(&host.hostname));
    Ok(())
}

/// Reads the files of the tool.
fn sources(program: &OsStr) -> Result<Vec<(PathBuf, String)>, Failure> {
    let source = |path: PathBuf| Ok(read(&path)?.map(|text| (path, text)));
    files(program).into_iter().filter_map(|path| source(path).transpose()).collect()
}

/// Lists the files that the tool would read, in its order.
fn files(program: &OsStr) -> Vec<PathBuf> {
    let is_tofu = Path::new(program).file_stem().is_some_and(|name| name == Tool::Tofu.program());
    let tool = if is_tofu { Tool::Tofu } else { usual_tool() };
    let Ok(places) = Places::of(tool) else { return Vec::new() };
    let mut further: Vec<PathBuf> = places.further().into_iter().chain(places.further_in_json()).collect();
    further.sort();
    std::iter::once(places.configuration).chain(further).collect()
}

/// Makes one text of several, in which the hosts of the run lead to the bridge.
fn merged(sources: &[(PathBuf, String)], hosts: Vec<Led<'_>>, providers: &Providers<'_>) -> Result<String, Failure> {
    let (mut text, mut hosts, mut seen) = (HEADER.to_owned(), hosts, BTreeSet::new());
    for (path, source) in sources {
        let source = in_hcl(path, source)?;
        let found = items(&source).map_err(|error| malformed(path, &source, error))?;
        let kept = kept(&source, &found, &mut hosts, &mut seen);
        // In a name there may be the end of a line, and with that of the comment.
        let name = printable(&path.display().to_string(), LONGEST_NAME);
        text.push_str(&format!("\n# {name}\n{kept}\n"));
    }
    for Led { hostname, services, .. } in hosts.into_iter().filter(|host| host.has_block) {
        let services = providers(hostname).into_iter().fold(services, |all, address| all.with_providers_at(&address));
        text.push_str(&format!("\n{}\n", services.block(hostname)));
    }
    Ok(text)
}

fn in_hcl(path: &Path, source: &str) -> Result<String, Failure> {
    if !source.trim_start().starts_with('{') {
        return Ok(source.to_owned());
    }
    json::in_hcl(source).ok_or_else(|| unread(path, 1, NO_CONFIGURATION))
}

/// Takes out what the run has itself, and what an earlier file has said already: there the first one counts.
fn kept(source: &str, found: &[Item], hosts: &mut [Led<'_>], seen: &mut BTreeSet<String>) -> String {
    let (mut kept, mut from, mut own) = (String::new(), 0, BTreeSet::new());
    for item in found {
        if !replaces(source, item, hosts) && !seen.contains(&item.words.concat()) {
            if let [attribute] = item.words.as_slice() {
                own.insert(attribute.clone());
            }
            continue;
        }
        kept.push_str(source.get(from..item.span.start).unwrap_or_default());
        from = item.span.end;
    }
    seen.extend(own.into_iter().filter(|name| !MANY.contains(&name.as_str())));
    kept.push_str(source.get(from..).unwrap_or_default());
    kept
}

/// Tells whether the run has something in place of an item; how `terraform login` works stays as it is.
fn replaces(source: &str, item: &Item, hosts: &mut [Led<'_>]) -> bool {
    let [kind, label] = item.words.as_slice() else { return false };
    let Some(led) = hosts.iter_mut().find(|led| is_name_of(label, led.hostname)) else { return false };
    let own = services_in(source.get(item.span.clone()).unwrap_or_default()).filter(|_| kind == "host");
    if let Some(own) = own {
        led.services = if led.is_on_bridge { led.services.clone().in_place_of(led.hostname, own) } else { own };
    }
    kind == "host" || kind == "credentials"
}

fn malformed(path: &Path, source: &str, error: Malformed) -> Failure {
    unread(path, error.line(source), error.why(NO_CONFIGURATION))
}

fn unread(path: &Path, line: usize, why: &str) -> Failure {
    let path = path.display();
    Failure::new(FailureKind::Settings, format!("{path}:{line} {why}"))
        .hint(format!("mend {path}, which Terraform reads too"))
}

const HEADER: &str = "# Made by `credmint exec` for one run, and gone when it ends.\n";
const LONGEST_NAME: usize = 300;
const NO_CONFIGURATION: &str = "is no CLI configuration";
/// What may stand in several files, and then counts together.
const MANY: [&str; 4] = ["host", "credentials", "credentials_helper", "provider_installation"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persons_own_is_kept_and_the_hosts_of_the_run_lead_to_the_bridge() {
        let host = Hostname::from_comparison_form("registry.corp.example").expect("a hostname");
        let sources = [
            (
                "a.tfrc",
                "plugin_cache_dir = \"/a\"\nhost \"Registry.corp.example:443\" {\n  services = { \"modules.v1\" = \"http://127.0.0.1:1/\", \"login.v1\" = { client = \"x\" } }\n}\ncredentials \"b.example\" { token = \"b\" }\nprovider_installation {\n  dev_overrides { \"x/y\" = \"/z\" }\n}\n",
            ),
            (
                "b.tfrc.json",
                "{\"credentials\":{\"registry.corp.example\":{\"token\":\"old\"},\"c.example\":{\"token\":\"c\"}},\"plugin_cache_dir\":\"/b\"}",
            ),
        ];
        let sources = sources.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        let led = Led { hostname: &host, services: Services::on_bridge(&host, 7), is_on_bridge: true, has_block: true };
        let text = merged(&sources, vec![led], &|_| None).expect("merged");
        for part in [
            "plugin_cache_dir = \"/a\"",
            "credentials \"b.example\" { token = \"b\" }",
            "dev_overrides { \"x/y\" = \"/z\" }",
            "credentials \"c.example\" {",
            "\"modules.v1\"   = \"http://127.0.0.1:7/registry.corp.example/v1/modules/\"",
            "\"login.v1\"     = { client = \"x\" }",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        for part in ["127.0.0.1:1/", "old", "/b\"", "Registry"] {
            assert!(!text.contains(part), "{part} is in {text}");
        }
        assert!(items(&text).is_ok(), "{text}");
    }

    #[test]
    fn a_file_that_terraform_could_not_read_either_is_named() {
        let failure =
            merged(&[(PathBuf::from("/x"), "a = 1\nhost {".to_owned())], Vec::new(), &|_| None).expect_err("malformed");
        assert_eq!(failure.what, "/x:2 is no CLI configuration");
    }
}
