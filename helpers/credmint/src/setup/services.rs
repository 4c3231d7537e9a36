//! The `host` block: which addresses Terraform is to use for a host instead of asking the host.
//! A port and a hostname come in, the text of the block goes out; a parsed block comes in, what it says goes out.
//! Touches nothing. `protocol-spec/bridge-protocol.md` §2: no fall-back, so every service the host offers must be listed.

use std::collections::BTreeMap;

use credmint_vocabulary::Hostname;
use serde_json::Value;

use crate::hcl::{Item, items, key, one_line};

/// Holds the addresses of a host's services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Services {
    /// Begins every address on the bridge.
    base: String,
    /// Values by name, as they are written, on one line.
    addresses: BTreeMap<String, String>,
    /// Whether the host has not said what it offers: then what is there already may be right.
    guessed: bool,
    /// `login.v1`, as one line.
    login: Option<String>,
    /// Whether any `login.v1` will do, and none too.
    any_login: bool,
    others: usize,
}

impl Services {
    /// Gives the usual addresses on the bridge: `http://127.0.0.1:PORT/HOST/…`, where `…` is the path at the upstream.
    pub(crate) fn on_bridge(host: &Hostname, port: u16) -> Self {
        let base = base(host, port);
        let at = |service: &str| (format!("{service}.v1"), format!("\"{base}v1/{service}/\""));
        Self { addresses: ["modules", "providers"].map(at).into(), guessed: true, base, ..Self::default() }
    }

    /// Gives the addresses of what the host says it offers; its paths are those of the bridge, all else stays as it is.
    pub(crate) fn offered(host: &Hostname, port: u16, offered: &BTreeMap<String, Value>) -> Self {
        let base = base(host, port);
        let write = |(name, value): (&String, &Value)| {
            // The sign-in behind the bridge is the agent's own, or none.
            let usable = is_name(name) && name != "login.v1";
            Some((name.clone(), written(value, &base).filter(|_| usable)?))
        };
        Self { addresses: offered.iter().filter_map(write).collect(), base, ..Self::default() }
    }

    /// Adds the agent's own sign-in, for `terraform login`: plain http, because nothing that travels there opens anything.
    #[must_use]
    pub(crate) fn with_login(self, host: &Hostname, port: u16) -> Self {
        let at = |endpoint: &str| format!("\"http://127.0.0.1:{port}/{host}/.login/{endpoint}\"");
        let fields = [
            ("authz", at("authorize")),
            ("client", "\"terraform-cli\"".to_owned()),
            ("grant_types", "[\"authz_code\"]".to_owned()),
            ("ports", "[10000, 10050]".to_owned()),
            ("token", at("token")),
        ];
        let fields = fields.map(|(key, value)| format!("{key} = {value}"));
        Self { login: Some(format!("{{ {} }}", fields.join(", "))), ..self }
    }

    /// Does not mind how `terraform login` is.
    #[must_use]
    pub(crate) fn with_any_login(self, any_login: bool) -> Self {
        Self { any_login, ..self }
    }

    /// Keeps what a block says that is there: `terraform login` as it is, and what leads to the bridge on the port of these.
    #[must_use]
    pub(crate) fn in_place_of(self, host: &Hostname, present: Self) -> Self {
        Self { login: present.login.clone(), ..self.keeping(host, &present) }
    }

    /// Gives what a registry has that has not been asked: modules at their usual address.
    pub(crate) fn of_registry(host: &Hostname) -> Self {
        let modules = ("modules.v1".to_owned(), format!("\"https://{host}/v1/modules/\""));
        Self { addresses: [modules].into(), ..Self::default() }
    }

    /// Leads to another address for providers.
    #[must_use]
    pub(crate) fn with_providers_at(mut self, address: &str) -> Self {
        self.addresses.insert("providers.v1".to_owned(), format!("\"{address}\""));
        self
    }

    /// Tells whether a run of `credmint exec` has a mirror stand for the host.
    pub(crate) fn leads_to_mirror(&self, host: &Hostname) -> bool {
        let address = self.addresses.get("providers.v1");
        address.is_some_and(|address| {
            address.starts_with("\"http://127.0.0.1:") && address.ends_with(&format!("/.mirror/{host}/\""))
        })
    }

    /// Writes the block.
    pub(crate) fn block(&self, host: &Hostname) -> String {
        let line = |(key, value): (&String, &String)| format!("    {:<14} = {value}\n", format!("\"{key}\""));
        let services: String = self.addresses.iter().map(line).collect();
        let login = self.login.as_ref().map(|login| format!("    \"login.v1\"     = {login}\n")).unwrap_or_default();
        format!("host \"{host}\" {{\n  services = {{\n{services}{login}  }}\n}}")
    }

    /// Tells whether these say what is wanted, and perhaps more.
    pub(crate) fn serves(&self, wanted: &Self) -> bool {
        if wanted.guessed {
            return self.addresses.values().any(|value| value.starts_with(&format!("\"{}", wanted.base)));
        }
        wanted.addresses.iter().all(|(key, value)| self.addresses.get(key) == Some(value))
    }

    /// Tells whether these say the same of `terraform login`.
    pub(crate) fn same_login(&self, wanted: &Self) -> bool {
        wanted.any_login || self.login == wanted.login
    }

    /// Tells whether somebody added a service that we did not write, and would not write now.
    pub(crate) fn has_more(&self, host: &Hostname, wanted: &Self) -> bool {
        let is_theirs = |(key, value): (&String, &String)| {
            !wanted.addresses.contains_key(key) && path_on_bridge(host, value).is_none()
        };
        self.others > 0 || self.addresses.iter().any(is_theirs)
    }

    /// Tells whether any of these leads to the bridge, at whatever port.
    pub(crate) fn is_on_bridge(&self, host: &Hostname) -> bool {
        self.addresses.values().any(|value| path_on_bridge(host, value).is_some())
    }

    /// Keeps what an earlier run wrote, on the port of this one, as long as the host has not said what it offers.
    #[must_use]
    pub(crate) fn keeping(self, host: &Hostname, present: &Self) -> Self {
        let moved = |(key, value): (&String, &String)| {
            Some((key.clone(), format!("\"{}{}\"", self.base, path_on_bridge(host, value)?)))
        };
        let kept: BTreeMap<String, String> = present.addresses.iter().filter_map(moved).collect();
        if !self.guessed || kept.is_empty() { self } else { Self { addresses: kept, ..self } }
    }
}

fn base(host: &Hostname, port: u16) -> String {
    format!("http://127.0.0.1:{port}/{host}/")
}

/// Gives what follows the host in an address on the bridge, on whatever port.
fn path_on_bridge<'a>(host: &Hostname, value: &'a str) -> Option<&'a str> {
    let rest = value.strip_prefix("\"http://127.0.0.1:")?.strip_suffix('"')?;
    let (port, path) = rest.split_once('/')?;
    port.parse::<u16>().ok()?;
    path.strip_prefix(host.as_str())?.strip_prefix('/')
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

/// Writes a value of a discovery document in HCL; `None` for what HCL would read in another way.
fn written(value: &Value, base: &str) -> Option<String> {
    match value {
        Value::String(text) if !text.chars().all(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')) => None,
        Value::String(text) if text.contains("${") || text.contains("%{") => None,
        Value::String(text) => Some(match text.strip_prefix('/') {
            Some(path) => format!("\"{base}{path}\""),
            None => format!("\"{text}\""),
        }),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| written(item, base)).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| Some(format!("{} = {}", key_written(key)?, written(value, base)?));
            let fields: Option<Vec<String>> = fields.iter().map(field).collect();
            Some(format!("{{ {} }}", fields?.join(", ")))
        }
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null => None,
    }
}

fn key_written(name: &str) -> Option<String> {
    is_name(name).then(|| key(name))
}

/// Reads the `services` of a `host` block that stands alone.
pub(crate) fn services_in(text: &str) -> Option<Services> {
    services_of(text, items(text).ok()?.first()?)
}

/// Reads the `services` of a `host` block.
pub(crate) fn services_of(text: &str, block: &Item) -> Option<Services> {
    let body = block.body(text)?;
    let inside = items(body).ok()?;
    let object = inside.iter().find(|item| item.words == ["services"])?.body(body)?;
    let mut services = Services { others: inside.len().saturating_sub(1), ..Services::default() };
    for item in items(object).ok()? {
        let value = one_line(object.get(item.value.clone()).unwrap_or_default());
        match item.words.as_slice() {
            [name] if name == "login.v1" => services.login = Some(value),
            [name] => drop(services.addresses.insert(name.clone(), value)),
            _ => services.others += 1,
        }
    }
    Some(services)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offered(document: &Value) -> String {
        let host = Hostname::from_comparison_form("registry.corp.example").expect("a hostname");
        let document = serde_json::from_value(document.clone()).expect("an object");
        Services::offered(&host, 7_411, &document).block(&host)
    }

    #[test]
    fn every_service_of_the_document_is_named_whatever_it_is() {
        let block = offered(&json!({
            "modules.v1": "/api/registry/v1/modules/", "tfe.v2.1": "/api/v2/", "later.v9": { "url": "/x", "n-m": [1, true] },
            "versions.v1": "https://versions.example.net/v1/", "motd.v1": "/motd?x=1",
        }));
        for line in [
            r#""modules.v1"   = "http://127.0.0.1:7411/registry.corp.example/api/registry/v1/modules/""#,
            r#""tfe.v2.1"     = "http://127.0.0.1:7411/registry.corp.example/api/v2/""#,
            r#""motd.v1"      = "http://127.0.0.1:7411/registry.corp.example/motd?x=1""#,
            r#""versions.v1"  = "https://versions.example.net/v1/""#,
            r#""later.v9"     = { "n-m" = [1, true], url = "http://127.0.0.1:7411/registry.corp.example/x" }"#,
        ] {
            assert!(block.contains(line), "{line}\n{block}");
        }
    }

    #[test]
    fn the_hosts_own_sign_in_and_what_hcl_would_read_otherwise_are_left_out() {
        let block = offered(&json!({
            "login.v1": { "authz": "/authorize" }, "a.v1": "/x\"\n}\nhost \"evil\" {", "b.v1": "/${file(1)}", "c d": "/x",
            "e\"f": "/x", "g.v1": null, "modules.v1": "/v1/modules/",
        }));
        assert_eq!(block.matches('=').count(), 2, "{block}");
    }
}
