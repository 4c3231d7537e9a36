//! `[host."…"]`, `[bridge]`, `[agent]`.
//! Tables and the names that they may refer to come in, structs go out.
//! Whether a host's keys go together depends on its issuer, so that is checked here.

use std::collections::BTreeMap;

use credmint_vocabulary::{Hostname, HostnameError};
use url::Url;

use crate::channel::{self, Channel};
use crate::error::SettingsError;
use crate::host::{AgentSettings, Audit, Bridge, Deliver, Host, Provider, Store};
use crate::issuer::{Issuer, Peer};
use crate::policy::Policy;
use crate::reader::aws_caller::goes_to_its_method;
use crate::reader::client::{PEER, peer};
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::policy::{POLICY, allow, policy};
use crate::reader::shape::{Keys, may, must};
use crate::reader::vault_oidc::stays_at_home;
use crate::route::Settings;
use crate::text::nearest;
use crate::tree::{Entry, Spelling, Table, Value};

pub(crate) const HOST: Keys = &[
    &[
        may("identity"),
        must("issuer"),
        may("token_issuer"),
        may("deliver"),
        may("upstream"),
        may("minimum_life"),
        may("store"),
        may("confirm"),
        may("allow"),
    ],
    PEER,
];
/// A provider is a host that the programs of its own ecosystem ask for: nothing of it goes through the bridge.
pub(crate) const PROVIDER: Keys = &[
    &[
        may("identity"),
        must("issuer"),
        may("token_issuer"),
        may("hosts"),
        may("username"),
        may("minimum_life"),
        may("confirm"),
        may("exec"),
    ],
    POLICY,
];
pub(crate) const BRIDGE: Keys = &[&[may("port"), may("audit"), may("metrics_port")]];
pub(crate) const AGENT: Keys = &[&[may("mode"), may("idle_exit"), may("after_renewal"), may("ask")]];

/// Reads one host; `known` has the identities and issuers already.
pub(crate) fn host(table: &Table, known: &Settings) -> Result<Host, SettingsError> {
    quoted(table)?;
    let fields = Fields::open(table, HOST)?;
    let identities = identities(&fields, known)?;
    let (name, issuer) = host_issuer(&fields, known)?;
    fits(&fields, &identities, (&name, issuer), known)?;
    let token = token_issuer(&fields, (&name, issuer), known)?;
    token.map_or(Ok(()), |token| fits(&fields, &identities, token, known))?;
    no_keys(&fields, (&name, issuer))?;
    let deliver = deliver(&fields, issuer)?;
    Ok(Host {
        identities,
        issuer: name,
        token_issuer: token.map(|(name, _)| name.to_owned()),
        deliver,
        store: store(&fields, deliver)?,
        upstream: fields.optional("upstream", Item::server)?,
        peer: peer(&fields)?,
        minimum_life: fields.optional("minimum_life", Item::duration_or_zero)?,
        confirm: fields.optional("confirm", Item::flag)?.unwrap_or_default(),
        policy: Policy { allow: allow(&fields)?, ..Policy::default() },
    })
}

/// Reads one provider; `known` has the identities, the issuers and the providers before it already.
pub(crate) fn provider(table: &Table, known: &Settings) -> Result<Provider, SettingsError> {
    let fields = Fields::open(table, PROVIDER)?;
    let identities = identities(&fields, known)?;
    let (name, issuer) = host_issuer(&fields, known)?;
    fits(&fields, &identities, (&name, issuer), known)?;
    let token = token_issuer(&fields, (&name, issuer), known)?;
    token.map_or(Ok(()), |token| fits(&fields, &identities, token, known))?;
    let policy = policy(&fields, &identities, (&name, issuer), known)?;
    let exec = exec(&fields, (&name, issuer))?;
    let host = Host {
        identities,
        issuer: name,
        token_issuer: token.map(|(name, _)| name.to_owned()),
        deliver: Deliver::Inline,
        store: Store::Refuse,
        upstream: None,
        peer: Peer::default(),
        minimum_life: fields.optional("minimum_life", Item::duration_or_zero)?,
        confirm: fields.optional("confirm", Item::flag)?.unwrap_or_default(),
        policy,
    };
    Ok(Provider { host, username: fields.optional("username", Item::text)?, hosts: hosts(&fields, known)?, exec })
}

/// Reads by which way a run gets it, which has to fit what is granted.
fn exec(fields: &Fields<'_>, (name, issuer): (&str, &Issuer)) -> Result<Option<Channel>, SettingsError> {
    let exec = fields.word("exec", &channel::WORDS)?.or_else(|| Channel::of(issuer));
    let Some((channel, wanted)) = exec.and_then(|own| Some((own, own.misfit(issuer)?))) else { return Ok(exec) };
    let what = format!("exec = \"{}\" is for {wanted}, and issuer `{name}` grants something else", channel.word());
    let hint = match Channel::of(issuer) {
        Some(own) => format!("leave it out, or exec = \"{}\"", own.word()),
        None => "name an issuer that grants that, or choose another word".to_owned(),
    };
    Err(fields.error_at("exec", what).with_hint(hint))
}

/// Reads the hosts of a provider: a host has one provider.
fn hosts(fields: &Fields<'_>, known: &Settings) -> Result<Vec<Hostname>, SettingsError> {
    let Some(entry) = fields.entry("hosts") else { return Ok(Vec::new()) };
    let read = |item: &Item<'_>| {
        let text = item.text()?;
        let hostname = Hostname::from_comparison_form(&text).map_err(|error| {
            let right = comparison_form(&text).map(|right| format!("write `{right}`"));
            let hint = right.unwrap_or_else(|| "a hostname looks like gitlab.corp.example".to_owned());
            item.error(host_mistake(&error)).with_hint(hint)
        })?;
        match known.providers.iter().find(|(_, provider)| provider.hosts.contains(&hostname)) {
            Some((other, _)) => Err(item
                .error(format!("`{hostname}` is a host of [provider.{other}] already"))
                .with_hint("a host has one provider: keep it in one of the two")),
            None => Ok(hostname),
        }
    };
    Item::of(entry).items().iter().map(read).collect()
}

/// Sees to it that an issuer that has to know who is asking does, and that no identity's token goes where it must not.
pub(crate) fn fits(
    fields: &Fields<'_>,
    identities: &[String],
    (name, issuer): (&str, &Issuer),
    known: &Settings,
) -> Result<(), SettingsError> {
    if identities.is_empty() && issuer.asks_who() {
        let hint = match fields.table.spelling {
            Spelling::Keys => format!("issuer `{name}` has to know who is asking: add identity = \"NAME\""),
            Spelling::Arguments(_) => WHO.to_owned(),
        };
        return Err(fields.missing("identity").with_hint(hint));
    }
    let found = identities.iter().filter_map(|identity| known.identities.get_key_value(identity));
    found.into_iter().try_for_each(|(own, found)| {
        goes_to_its_method(fields, (own, found), (name, issuer))?;
        stays_at_home(fields, (own, found), (name, issuer))
    })?;
    let certificate = issuer.certificate_issuer().and_then(|name| known.issuers.get_key_value(name));
    certificate.map_or(Ok(()), |(name, issuer)| fits(fields, identities, (name, issuer), known))
}

/// Refuses keys for a host: no registry takes them.
fn no_keys(fields: &Fields<'_>, (name, issuer): (&str, &Issuer)) -> Result<(), SettingsError> {
    if !issuer.grants_keys() {
        return Ok(());
    }
    let what = format!("issuer `{name}` grants keys of AWS, which no registry takes");
    Err(fields.error_at("issuer", what).with_hint("name it in a [provider.NAME] table"))
}

/// Finds who grants the token that a host wants besides its certificate.
fn token_issuer<'k>(
    fields: &Fields<'_>,
    (first, issuer): (&str, &Issuer),
    known: &'k Settings,
) -> Result<Option<(&'k str, &'k Issuer)>, SettingsError> {
    let Some(entry) = fields.entry("token_issuer") else { return Ok(None) };
    let item = Item::of(entry);
    let (name, found) = defined(&item, "issuer", &known.issuers)?;
    if found.grants_certificate() || found.grants_keys() {
        let kind = if found.grants_keys() { "keys of AWS" } else { "a certificate" };
        let what = format!("issuer `{name}` grants {kind}, and no token that would go with one");
        return Err(item.error(what).with_hint(format!("issuers of tokens are of kind {TOKEN_KINDS}")));
    }
    if !issuer.grants_certificate() {
        let what = format!("issuer `{first}` grants a token already: only a certificate has a token besides it");
        return Err(item.error(what).with_hint("keep one of the two, as `issuer`"));
    }
    Ok(known.issuers.get_key_value(&name).map(|(name, found)| (name.as_str(), found)))
}

pub(crate) fn bridge(table: &Table) -> Result<Bridge, SettingsError> {
    let fields = Fields::open(table, BRIDGE)?;
    let bridge = Bridge {
        port: fields.optional("port", Item::port)?,
        audit: fields.optional("audit", audit)?,
        metrics_port: fields.optional("metrics_port", Item::port)?,
    };
    if bridge.port.is_some() && bridge.port == bridge.metrics_port {
        return Err(fields
            .error_at("metrics_port", "`metrics_port` and `port` are the same")
            .with_hint("give the numbers a port of their own"));
    }
    Ok(bridge)
}

/// Reads where the audit goes: a path has a root or `~` before it, so that the word is none.
fn audit(item: &Item<'_>) -> Result<Audit, SettingsError> {
    let text = item.text()?;
    let Some(socket) = text.strip_prefix("syslog") else { return item.path().map(Audit::File) };
    let socket = match socket.strip_prefix(':') {
        Some(path) if Item::is_rooted(path) => Some(path.into()),
        None if socket.is_empty() => None,
        _ => {
            return Err(item
                .is_wrong("is neither a path nor the system's log")
                .with_hint("\"syslog\", \"syslog:/path/of/its/socket\", or a path that begins with `/` or `~/`"));
        }
    };
    if cfg!(windows) {
        return Err(item
            .is_wrong("is \"syslog\", which Windows does not have; its event log is not written to")
            .with_hint("name a file"));
    }
    Ok(Audit::Syslog(socket))
}

pub(crate) fn agent(table: &Table) -> Result<AgentSettings, SettingsError> {
    let fields = Fields::open(table, AGENT)?;
    let default = AgentSettings::default();
    Ok(AgentSettings {
        once: fields.word("mode", &[("auto", false), ("once", true)])?.unwrap_or(default.once),
        idle_exit: fields.optional("idle_exit", Item::duration)?.unwrap_or(default.idle_exit),
        after_renewal: fields.optional("after_renewal", Item::argv)?,
        ask: fields.optional("ask", Item::argv)?,
    })
}

/// Reads the name of a host's table, which is a hostname in comparison form.
pub(crate) fn hostname(entry: &Entry) -> Result<Hostname, SettingsError> {
    Hostname::from_comparison_form(&entry.name).map_err(|error| {
        let hint = match (comparison_form(&entry.name), &error) {
            (Some(right), _) => format!("write `{right}`"),
            (None, _) if entry.name.contains('*') => "one table a host: there are no wildcards".to_owned(),
            _ => "a hostname looks like registry.corp.example or registry.corp.example:8443".to_owned(),
        };
        SettingsError::at(&entry.place, host_mistake(&error)).with_hint(hint)
    })
}

/// Refuses `[host.registry.corp.example]`, which to TOML is a table in a table in a table with nothing beside it.
fn quoted(table: &Table) -> Result<(), SettingsError> {
    let alone = table.entries.len() == 1 && !table.title.contains('"');
    let Some((entry, inner)) = first_table(table).filter(|_| alone) else { return Ok(()) };
    let mut name = format!("{}.{}", table.title.trim_matches(['[', ']']), entry.name);
    let mut rest = first_table(inner);
    while let Some((entry, inner)) = rest {
        name = format!("{name}.{}", entry.name);
        rest = first_table(inner);
    }
    let what = format!("the hostname in [{name}] is not quoted");
    let hostname = name.strip_prefix("host.").unwrap_or(&name);
    Err(SettingsError::at(&entry.place, what).with_hint(format!("write [host.\"{hostname}\"]")))
}

fn first_table(table: &Table) -> Option<(&Entry, &Table)> {
    table.entries.iter().find_map(|entry| match &entry.node.value {
        Value::Table(inner) => Some((entry, inner)),
        _ => None,
    })
}

fn host_mistake(error: &HostnameError) -> String {
    match error {
        HostnameError::Port => {
            "the port of the hostname is not in comparison form: 1 to 65535, and 443 left out".to_owned()
        }
        other => other.to_string(),
    }
}

/// Finds the comparison form that was meant: lower case, Punycode, no scheme, no path, no `:443`.
fn comparison_form(text: &str) -> Option<String> {
    let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
    let url = Url::parse(&format!("https://{bare}")).ok()?;
    let name = url.host_str()?.trim_end_matches('.');
    let right = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    Hostname::from_comparison_form(&right).ok().map(|hostname| hostname.as_str().to_owned())
}

fn identities(fields: &Fields<'_>, known: &Settings) -> Result<Vec<String>, SettingsError> {
    let Some(entry) = fields.entry("identity") else { return Ok(Vec::new()) };
    let read = |item: &Item<'_>| defined(item, "identity", &known.identities).map(|(name, _)| name);
    Item::of(entry).items().iter().map(read).collect()
}

fn host_issuer<'k>(fields: &Fields<'_>, known: &'k Settings) -> Result<(String, &'k Issuer), SettingsError> {
    match fields.entry("issuer") {
        Some(entry) => defined(&Item::of(entry), "issuer", &known.issuers),
        None => Err(fields.missing("issuer")),
    }
}

/// Finds what a name refers to.
pub(crate) fn defined<'k, T>(
    item: &Item<'_>,
    section: &str,
    known: &'k BTreeMap<String, T>,
) -> Result<(String, &'k T), SettingsError> {
    let name = item.text()?;
    match known.get(&name) {
        Some(found) => Ok((name, found)),
        None if known.is_empty() => {
            Err(item.error(format!("no {section} `{name}`")).with_hint(format!("add a table [{section}.{name}]")))
        }
        None => {
            let hint = nearest::hint(&name, known.keys().map(String::as_str), &format!("[{section}.…] tables"));
            Err(item.error(format!("no {section} `{name}`")).with_hint(hint))
        }
    }
}

fn deliver(fields: &Fields<'_>, issuer: &Issuer) -> Result<Deliver, SettingsError> {
    let words = [("bridge", Deliver::Bridge), ("token", Deliver::Token), ("inline", Deliver::Inline)];
    let default = if issuer.grants_certificate() { Deliver::Bridge } else { Deliver::Token };
    let deliver = fields.word("deliver", &words)?.unwrap_or(default);
    if deliver == Deliver::Token && issuer.grants_certificate() {
        let hint = match fields.has("token_issuer") {
            true => "for the token alone, name its issuer as `issuer`, and leave `token_issuer` out",
            false => "deliver it by \"bridge\", or \"inline\" to a client that reads PEM properties",
        };
        return Err(fields.error_at("deliver", "a certificate cannot be delivered as a token").with_hint(hint));
    }
    let unused: &[&str] = match deliver {
        Deliver::Bridge => &[],
        Deliver::Inline => &["upstream", "proxy", "pins"],
        Deliver::Token => &["upstream", "proxy", "pins", "ca", "ca_only"],
    };
    match unused.iter().find(|key| fields.has(key)) {
        Some(key) => Err(fields
            .error_at(key, format!("{} has no meaning unless the bridge delivers", fields.quoted(key)))
            .with_hint(format!("add {}, or leave {} out", fields.assignment("deliver", "bridge"), fields.quoted(key)))),
        None => Ok(deliver),
    }
}

/// What is pasted is handed out as it is: the bridge is for what an issuer grants.
fn store(fields: &Fields<'_>, deliver: Deliver) -> Result<Store, SettingsError> {
    let words = [("sign-in", Store::SignIn), ("memory", Store::Memory), ("refuse", Store::Refuse)];
    let store = fields.word("store", &words)?.unwrap_or_default();
    if store == Store::Memory && deliver != Deliver::Token {
        return Err(fields
            .error_at("store", "a token in memory is handed out as it is, not through the bridge or as PEM")
            .with_hint(format!(
                "add {}, or leave {} out",
                fields.assignment("deliver", "token"),
                fields.quoted("store")
            )));
    }
    Ok(store)
}

const TOKEN_KINDS: &str = "\"oidc\", \"token-exchange\", \"vault-token\" or \"vault-secret\"";
const WHO: &str = "--identity-env=NAME, --identity-file=/path, --identity-kubernetes or --identity-command=PROGRAM says who is asking";
