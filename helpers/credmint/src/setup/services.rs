//! The `host` block: which addresses Terraform is to use for a host instead of asking the host.
//! A port and a hostname come in, the text of the block goes out; a parsed block comes in, what it says goes out.
//! Touches nothing. `protocol-spec/bridge-protocol.md` §2: no fall-back, so every service the host offers must be listed.

use std::collections::BTreeMap;

use credmint_vocabulary::Hostname;
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::parser::parse_body;
use hcl_edit::structure::Block;
use serde_json::Value;

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

fn key_written(key: &str) -> Option<String> {
    let is_word =
        key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !key.starts_with(|c: char| c.is_ascii_digit());
    is_name(key).then(|| if is_word { key.to_owned() } else { format!("\"{key}\"") })
}

/// Reads the `services` of a `host` block that stands alone.
pub(crate) fn services_in(text: &str) -> Option<Services> {
    let body = parse_body(text).ok()?;
    body.get_blocks("host").next().and_then(services_of)
}

/// Reads the `services` of a `host` block.
pub(crate) fn services_of(block: &Block) -> Option<Services> {
    let object = block.body.get_attribute("services")?.value.as_object()?;
    let mut services = Services { others: block.body.len().saturating_sub(1), ..Services::default() };
    for (key, value) in object.iter() {
        match key_text(key) {
            Some("login.v1") => services.login = Some(one_line(value.expr())),
            Some(name) => drop(services.addresses.insert(name.to_owned(), one_line(value.expr()))),
            None => services.others += 1,
        }
    }
    Some(services)
}

fn key_text(key: &ObjectKey) -> Option<&str> {
    key.as_expr().and_then(Expression::as_str).or_else(|| key.as_ident().map(|ident| ident.as_str()))
}

/// Writes a value on one line, however it was laid out, the keys of an object in order.
fn one_line(value: &Expression) -> String {
    match value {
        Expression::Array(items) => {
            let items: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Expression::Object(object) => {
            let field = |(key, value): (&ObjectKey, &hcl_edit::expr::ObjectValue)| {
                let key = key_text(key).and_then(key_written).unwrap_or_default();
                format!("{key} = {}", one_line(value.expr()))
            };
            let mut fields: Vec<String> = object.iter().map(field).collect();
            fields.sort();
            format!("{{ {} }}", fields.join(", "))
        }
        _ => value.as_str().map_or_else(|| value.to_string().trim().to_owned(), |text| format!("{text:?}")),
    }
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
