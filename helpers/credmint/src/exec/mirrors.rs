//! Provider mirrors at hosts of a run, where no proxy leads there: the registries that they stand for lead to the bridge.
//! The methods of `provider_installation` and the hosts of a run come in; which mirror stands for which registry goes out.
//! Touches nothing. Hosts alone can be led elsewhere, not single providers: what that would make wrong is left as it is, and said.

use credmint_agent_protocol::RunMirror;
use credmint_vocabulary::Hostname;
use serde_json::Value;

use super::installation::{Installation, Kind, Method, installation};

/// The mirrors of a configuration that lead to hosts of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mirrors {
    /// Those that the bridge can stand in for.
    pub(crate) translated: Vec<Translated>,
    /// What is said of the others.
    pub(crate) left: Vec<String>,
}

/// A mirror that the bridge stands in for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translated {
    /// Its place among the methods.
    index: usize,
    /// Its host.
    pub(crate) hostname: Hostname,
    /// The path below which its documents are.
    path: String,
    /// The registries whose providers it has.
    pub(crate) registries: Vec<Hostname>,
}

impl Mirrors {
    /// Finds them.
    pub(crate) fn of(found: &Installation, hosts: &[Hostname]) -> Self {
        let mut mirrors = Self::default();
        for (index, method) in found.methods.iter().enumerate() {
            let Some((hostname, path)) = method.led(hosts, |host| host) else { continue };
            let registries = registries(method, hosts);
            let others = found.methods.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, other)| other);
            let asks_too =
                |other: &Method| asks_registries(other, hosts) && registries.iter().any(|r| may_match(other, r));
            match method.kind {
                Kind::NetworkMirror { .. } if !others.into_iter().any(asks_too) => {
                    let (hostname, path) = (hostname.clone(), directory(&path));
                    mirrors.translated.push(Translated { index, hostname, path, registries });
                }
                Kind::NetworkMirror { .. } => mirrors.left.push(format!("the mirror at {hostname} {SHARED}")),
                _ => mirrors.left.push(format!("the OCI mirror at {hostname} {OCI}")),
            }
        }
        mirrors
    }

    /// Says what the agent has to know.
    pub(crate) fn wanted(&self) -> Vec<RunMirror> {
        let wanted = |one: &Translated| RunMirror {
            hostname: one.hostname.to_string(),
            path: one.path.clone(),
            registries: one.registries.iter().map(ToString::to_string).collect(),
        };
        self.translated.iter().map(wanted).collect()
    }

    /// Gives the address at which a registry is to be asked for providers.
    pub(crate) fn address(&self, registry: &Hostname, port: u16) -> Option<String> {
        let mirror = self.translated.iter().find(|mirror| mirror.registries.contains(registry))?;
        Some(format!("http://127.0.0.1:{port}/{}/.mirror/{registry}/", mirror.hostname))
    }

    /// Lists what is said to the person.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let said = |one: &Translated| {
            let names: Vec<_> = one.registries.iter().map(Hostname::as_str).collect();
            format!("the mirror at {} has the providers of {} in this run", one.hostname, names.join(", "))
        };
        self.translated.iter().map(said).chain(self.left.iter().cloned()).collect()
    }

    /// Writes `direct` in place of each mirror that the bridge stands in for, for the same providers.
    pub(crate) fn in_place(&self, mut text: String) -> String {
        let Some(found) = installation(&text) else { return text };
        for one in self.translated.iter().rev() {
            if let Some(method) = found.methods.get(one.index) {
                text.replace_range(method.span.clone(), &one.direct(method));
            }
        }
        text
    }
}

impl Translated {
    fn direct(&self, method: &Method) -> String {
        let every = ["*/*/*".to_owned()];
        let include = if method.include.is_empty() { every.as_slice() } else { method.include.as_slice() };
        let include = include.iter().flat_map(|pattern| match pattern.strip_prefix("*/") {
            Some(rest) if rest.contains('/') => self.registries.iter().map(|name| format!("{name}/{rest}")).collect(),
            _ => vec![pattern.clone()],
        });
        let list = |patterns: Vec<String>| Value::from(patterns).to_string();
        let exclude = list(method.exclude.clone());
        format!("direct {{\n    include = {}\n    exclude = {exclude}\n  }}", list(include.collect()))
    }
}

/// Lists the registries of a mirror: those that it names; if it has all, the public ones and the hosts of the run.
fn registries(method: &Method, hosts: &[Hostname]) -> Vec<Hostname> {
    let public = || PUBLIC.into_iter().filter_map(|name| Hostname::from_comparison_form(name).ok());
    let mut found: Vec<Hostname> = Vec::new();
    let include =
        if method.include.is_empty() { vec!["*/*/*"] } else { method.include.iter().map(String::as_str).collect() };
    for pattern in include {
        match host_of(pattern) {
            Some("*") => found.extend(public().chain(hosts.iter().cloned())),
            Some(host) => found.extend(comparison_form(host)),
            None => found.extend(public()),
        }
    }
    found.retain(|host| !method.exclude.iter().any(|pattern| is_whole(pattern, host)));
    let mut seen = Vec::new();
    found.retain(|host| {
        !seen.contains(host) && {
            seen.push(host.clone());
            true
        }
    });
    found
}

/// Tells whether a method asks the registries themselves, or would in a run.
fn asks_registries(method: &Method, hosts: &[Hostname]) -> bool {
    let is_network = matches!(method.kind, Kind::NetworkMirror { .. });
    method.kind == Kind::Direct || is_network && method.led(hosts, |host| host).is_some()
}

/// Tells whether a method may be for a provider of a registry.
fn may_match(method: &Method, registry: &Hostname) -> bool {
    let is_named = method.include.is_empty() || method.include.iter().any(|pattern| is_of(pattern, registry));
    is_named && !method.exclude.iter().any(|pattern| is_whole(pattern, registry))
}

/// Tells whether a pattern has a provider of a registry.
fn is_of(pattern: &str, registry: &Hostname) -> bool {
    match host_of(pattern) {
        Some("*") => true,
        Some(host) => comparison_form(host).as_ref() == Some(registry),
        None => PUBLIC.contains(&registry.as_str()),
    }
}

/// Tells whether a pattern has every provider of a registry.
fn is_whole(pattern: &str, registry: &Hostname) -> bool {
    is_of(pattern, registry) && (pattern == "*/*" || pattern.ends_with("/*/*"))
}

/// Gives the host of a pattern; `None` if it is the tool's own registry.
fn host_of(pattern: &str) -> Option<&str> {
    let (host, rest) = pattern.split_once('/')?;
    rest.contains('/').then_some(host)
}

fn comparison_form(host: &str) -> Option<Hostname> {
    let host = host.to_ascii_lowercase();
    Hostname::from_comparison_form(host.strip_suffix(":443").unwrap_or(&host)).ok()
}

/// Cuts what follows the last slash, as Terraform does when it looks for documents beside an address.
fn directory(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    path.rsplit_once('/').map_or_else(|| "/".to_owned(), |(directory, _)| format!("{directory}/"))
}

/// Terraform's own registry, and `OpenTofu`'s.
const PUBLIC: [&str; 2] = ["registry.terraform.io", "registry.opentofu.org"];
const SHARED: &str = "shares a registry with another method: it is asked without the bridge; \
                      on Linux `--carrier proxy` leads there, elsewhere let each registry have one method";
const OCI: &str = "is asked without the bridge; on Linux `--carrier proxy` leads there";

#[cfg(test)]
mod tests {
    use super::*;

    const MIRROR: &str = "network_mirror {\n url = \"https://mirror.corp.example/p/x?y=/\"\n";

    fn mirrors(methods: &str) -> (Mirrors, String) {
        let text = format!("provider_installation {{\n{methods}}}\n");
        let hosts = [Hostname::from_comparison_form("mirror.corp.example").expect("a hostname")];
        let mirrors = Mirrors::of(&installation(&text).expect("a block"), &hosts);
        let text = mirrors.in_place(text);
        (mirrors, text)
    }

    fn registries(methods: &str) -> Vec<String> {
        let (mirrors, _) = mirrors(methods);
        assert!(mirrors.left.is_empty(), "{:?}", mirrors.left);
        mirrors.translated.iter().flat_map(|one| one.registries.iter().map(ToString::to_string)).collect()
    }

    #[test]
    fn a_mirror_stands_for_the_registries_that_it_names_or_for_those_that_are_known() {
        let all = ["registry.terraform.io", "registry.opentofu.org", "mirror.corp.example"];
        assert_eq!(registries(&format!("{MIRROR} }}\n")), all);
        assert_eq!(registries(&format!("{MIRROR} include = [\"*/*/*\"]\n }}\n")), all);
        assert_eq!(
            registries(&format!("{MIRROR} exclude = [\"registry.opentofu.org/*/*\", \"a/b\"]\n }}\n")),
            [all[0], all[2]]
        );
        assert_eq!(registries(&format!("{MIRROR} include = [\"hashicorp/*\"]\n }}\n")), all[..2]);
        let include = "include = [\"A.example:443/x/*\", \"a.example/y/z\", \"b.example:8443/*/*\"]";
        assert_eq!(registries(&format!("{MIRROR} {include}\n }}\n")), ["a.example", "b.example:8443"]);
    }

    #[test]
    fn direct_takes_its_place_for_the_same_providers_and_nothing_else_changes() {
        let rest = "  filesystem_mirror { path = \"/m\" }\n  direct { exclude = [\"a.example/*/*\"] }\n";
        let (found, text) = mirrors(&format!("  # mine\n  {MIRROR} include = [\"a.example/x/*\"]\n  }}\n{rest}"));
        let direct = "  direct {\n    include = [\"a.example/x/*\"]\n    exclude = []\n  }\n";
        assert_eq!(text, format!("provider_installation {{\n  # mine\n{direct}{rest}}}\n"));
        let wanted = found.wanted().pop().expect("one");
        assert_eq!((wanted.hostname.as_str(), wanted.path.as_str()), ("mirror.corp.example", "/p/"));
        let (_, text) = mirrors(&format!("{MIRROR} include = [\"*/corp/*\"]\n exclude = [\"corp/old\"]\n }}\n"));
        assert!(
            text.contains("\"registry.terraform.io/corp/*\"") && text.contains("exclude = [\"corp/old\"]"),
            "{text}"
        );
    }

    #[test]
    fn what_hosts_alone_cannot_tell_apart_is_left_as_it_is_and_said() {
        for rest in [
            "direct {}\n",
            "direct { exclude = [\"hashicorp/*\"] }\n",
            "direct { include = [\"*/corp/*\"] }\n",
            "direct { include = [\"registry.terraform.io/corp/*\"] }\n",
            "network_mirror {\n url = \"https://mirror.corp.example/other/\"\n }\n",
        ] {
            let methods = format!("{MIRROR} include = [\"hashicorp/*\", \"a.example/*/*\"]\n }}\n{rest}");
            let (found, text) = mirrors(&methods);
            assert!(found.translated.is_empty() && !found.left.is_empty(), "{rest}");
            assert_eq!(text, format!("provider_installation {{\n{methods}}}\n"));
        }
        let (found, _) = mirrors("oci_mirror { repository_template = \"mirror.corp.example/${type}\" }\n");
        assert!(found.translated.is_empty() && found.left.concat().contains("OCI"), "{found:?}");
    }

    #[test]
    fn methods_that_ask_no_registry_of_the_mirror_may_stand_beside_it() {
        for rest in [
            "direct { exclude = [\"registry.terraform.io/*/*\", \"registry.opentofu.org/*/*\"] }\n",
            "direct { exclude = [\"*/*\"] }\n",
            "direct { include = [\"b.example/*/*\"] }\n",
            "filesystem_mirror { path = \"/m\" }\n",
            "network_mirror { url = \"https://elsewhere.example/\" }\n",
        ] {
            let found = registries(&format!("{MIRROR} include = [\"hashicorp/*\"]\n }}\n{rest}"));
            assert_eq!(found, PUBLIC, "{rest}");
        }
    }
}
