//! The `host` block: which addresses Terraform is to use for a host instead of asking the host.
//! A port and a hostname come in, the text of the block goes out; a parsed block comes in, what it says goes out.
//! Touches nothing. `protocol-spec/bridge-protocol.md` §2: no fall-back, so every service the host offers must be listed.

use credmint_vocabulary::Hostname;
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::structure::Block;

/// Holds the addresses of a host's services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Services {
    modules: Option<String>,
    providers: Option<String>,
    /// `login.v1`, as one line.
    login: Option<String>,
    /// Whether any `login.v1` will do, and none too.
    any_login: bool,
    others: usize,
}

impl Services {
    /// Gives the addresses on the bridge: `http://127.0.0.1:PORT/HOST/…`, where `…` is the path at the upstream.
    pub(crate) fn on_bridge(host: &Hostname, port: u16) -> Self {
        let at = |service: &str| Some(format!("http://127.0.0.1:{port}/{host}/v1/{service}/"));
        Self { modules: at("modules"), providers: at("providers"), ..Self::default() }
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

    /// Writes the block.
    pub(crate) fn block(&self, host: &Hostname) -> String {
        let line = |key: &str, address: &Option<String>| {
            address.as_ref().map(|address| format!("    {key:<14} = \"{address}\"\n")).unwrap_or_default()
        };
        let login = self.login.as_ref().map(|login| format!("    \"login.v1\"     = {login}\n")).unwrap_or_default();
        let services = line("\"modules.v1\"", &self.modules) + &line("\"providers.v1\"", &self.providers) + &login;
        format!("host \"{host}\" {{\n  services = {{\n{services}  }}\n}}")
    }

    /// Tells whether these say what is wanted, and perhaps more.
    pub(crate) fn serves(&self, wanted: &Self) -> bool {
        self.modules == wanted.modules && self.providers == wanted.providers
    }

    /// Tells whether these say the same of `terraform login`.
    pub(crate) fn same_login(&self, wanted: &Self) -> bool {
        wanted.any_login || self.login == wanted.login
    }

    /// Tells whether somebody added a service that we do not know.
    pub(crate) fn has_more(&self) -> bool {
        self.others > 0
    }
}

/// Reads the `services` of a `host` block.
pub(crate) fn services_of(block: &Block) -> Option<Services> {
    let object = block.body.get_attribute("services")?.value.as_object()?;
    let mut services = Services { others: block.body.len().saturating_sub(1), ..Services::default() };
    for (key, value) in object.iter() {
        let (expression, text) = (value.expr(), value.expr().as_str().map(str::to_owned));
        match key_text(key) {
            Some("modules.v1") => services.modules = text,
            Some("providers.v1") => services.providers = text,
            Some("login.v1") => services.login = Some(one_line(expression)),
            _ => services.others += 1,
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
                format!("{} = {}", key_text(key).unwrap_or_default(), one_line(value.expr()))
            };
            let mut fields: Vec<String> = object.iter().map(field).collect();
            fields.sort();
            format!("{{ {} }}", fields.join(", "))
        }
        _ => value.as_str().map_or_else(|| value.to_string().trim().to_owned(), |text| format!("{text:?}")),
    }
}
