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
    others: usize,
}

impl Services {
    /// Gives the addresses on the bridge: `http://127.0.0.1:PORT/HOST/…`, where `…` is the path at the upstream.
    pub(crate) fn on_bridge(host: &Hostname, port: u16) -> Self {
        let at = |service: &str| Some(format!("http://127.0.0.1:{port}/{host}/v1/{service}/"));
        Self { modules: at("modules"), providers: at("providers"), others: 0 }
    }

    /// Writes the block.
    pub(crate) fn block(&self, host: &Hostname) -> String {
        let line = |key: &str, address: &Option<String>| {
            address.as_ref().map(|address| format!("    {key:<14} = \"{address}\"\n")).unwrap_or_default()
        };
        let services = line("\"modules.v1\"", &self.modules) + &line("\"providers.v1\"", &self.providers);
        format!("host \"{host}\" {{\n  services = {{\n{services}  }}\n}}")
    }

    /// Tells whether these say what is wanted, and perhaps more.
    pub(crate) fn serves(&self, wanted: &Self) -> bool {
        self.modules == wanted.modules && self.providers == wanted.providers
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
        let value = value.expr().as_str().map(str::to_owned);
        match key_text(key) {
            Some("modules.v1") => services.modules = value,
            Some("providers.v1") => services.providers = value,
            _ => services.others += 1,
        }
    }
    Some(services)
}

fn key_text(key: &ObjectKey) -> Option<&str> {
    key.as_expr().and_then(Expression::as_str).or_else(|| key.as_ident().map(|ident| ident.as_str()))
}
