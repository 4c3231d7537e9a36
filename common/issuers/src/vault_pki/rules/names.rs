//! Common name and subject alternative names: which of them a role lets into a certificate.
//! A role and the names that are asked for come in, one finding for each name that is not let in goes out.
//! Touches nothing. Templates and the token's display name are the server's to know. hashicorp/vault#12659, #2770, #388.

use credmint_client_identity::Names;

use super::pattern::{glob, is_hostname, is_in, is_wildcard_label};
use super::{Effect, Finding};
use crate::vault_pki::role::Role;

/// Why a name is not let in.
enum Against {
    /// By this rule, and what would help.
    Rule(String, &'static str),
    /// It depends on what only the server knows.
    Unknown(&'static str),
}

use Against::{Rule, Unknown};

pub(super) fn judge(name: &str, role: &Role, names: &Names) -> Vec<Finding> {
    let common = match &names.common_name {
        Some(common) => against_common(role, common).map(|why| finding(name, "common name", common, why)),
        None if role.require_cn => Some(Finding::new(
            Effect::Refuses,
            format!("require_cn of role {name} wants a common name, and none is asked for"),
            "set common_name, for example common_name = \"{sub}\", or ask for require_cn=false",
        )),
        None => None,
    };
    let dns = names.dns_names.iter().map(|name| ("DNS name", name));
    let email = names.email_addresses.iter().map(|name| ("e-mail address", name));
    let alternatives = dns
        .chain(email)
        .filter_map(|(kind, alternative)| Some(finding(name, kind, alternative, against(role, alternative)?)));
    let addresses = names.ip_addresses.iter().filter_map(|address| {
        against_address(role, *address).map(|why| finding(name, "IP address", &address.to_string(), why))
    });
    let uris = names.uris.iter().filter_map(|uri| against_uri(role, uri).map(|why| finding(name, "URI", uri, why)));
    let dropped = names.dns_names.iter().filter_map(|alternative| dropped(name, role, alternative));
    common.into_iter().chain(alternatives).chain(dropped).chain(addresses).chain(uris).collect()
}

/// Without `use_csr_sans` names are taken from a parameter, where the engine passes over what is no hostname.
fn dropped(role_name: &str, role: &Role, name: &str) -> Option<Finding> {
    let kept = role.use_csr_sans || is_hostname(name.strip_prefix("*.").unwrap_or(name));
    (!kept).then(|| {
        let what =
            format!("use_csr_sans of role {role_name} is off: the DNS name {name} is left out, for it is no hostname");
        Finding::new(Effect::Changes, what, "ask the administrator for use_csr_sans=true")
    })
}

fn finding(role: &str, kind: &str, name: &str, why: Against) -> Finding {
    match why {
        Rule(rule, hint) => {
            Finding::new(Effect::Refuses, format!("role {role} does not allow the {kind} {name}: {rule}"), hint)
        }
        Unknown(why) => {
            let what = format!("whether role {role} allows the {kind} {name} cannot be judged from here: {why}");
            Finding::new(Effect::Unknown, what, "")
        }
    }
}

/// Judges the common name: as any other name, and by its form. `cn_validations = disabled` switches both off.
fn against_common(role: &Role, name: &str) -> Option<Against> {
    if let [only] = role.cn_validations.as_slice()
        && only == "disabled"
    {
        return None;
    }
    against(role, name).or_else(|| {
        let form = if name.contains('@') { "email" } else { "hostname" };
        let taken = role.cn_validations.is_empty() || role.cn_validations.iter().any(|validation| validation == form);
        let hint = "set common_name to a name of that form, or ask the administrator for cn_validations=email,hostname";
        (!taken).then(|| Rule(format!("cn_validations has only {}", role.cn_validations.join(", ")), hint))
    })
}

/// Judges a DNS name or an e-mail address.
fn against(role: &Role, name: &str) -> Option<Against> {
    let is_email = name.contains('@');
    let host = match name.split_once('@') {
        Some((_, host)) if host.contains('@') => {
            return Some(Rule("it has two @".to_owned(), "set it to an e-mail address"));
        }
        Some((_, host)) => host,
        None => name,
    };
    let is_wildcard = host.contains('*');
    if is_wildcard && (is_email || !role.allow_wildcard_certificates) {
        let hint = "set a name without *, or ask the administrator for allow_wildcard_certificates=true";
        return Some(Rule("allow_wildcard_certificates is off, or it is an e-mail address".to_owned(), hint));
    }
    let (label, reduced) = if is_wildcard { host.split_once('.').unwrap_or((host, "")) } else { ("", host) };
    if role.enforce_hostnames && !is_sound(label, reduced, is_wildcard) {
        let hint = "set it to a hostname or an e-mail address, or ask the administrator for enforce_hostnames=false";
        return Some(Rule("enforce_hostnames wants a hostname".to_owned(), hint));
    }
    if role.allow_any_name || local(role, reduced) {
        return None;
    }
    by_domain(role, name, host, reduced, is_wildcard)
}

fn is_sound(label: &str, reduced: &str, is_wildcard: bool) -> bool {
    let rest = reduced.is_empty() && is_wildcard || is_hostname(reduced);
    rest && (!is_wildcard || is_wildcard_label(label))
}

fn local(role: &Role, reduced: &str) -> bool {
    let below = || role.allow_subdomains && (reduced.ends_with(".localhost") || reduced.ends_with(".localdomain"));
    role.allow_localhost && (reduced == "localhost" || reduced == "localdomain" || below())
}

/// Judges a name by `allowed_domains` and the switches beside it.
fn by_domain(role: &Role, name: &str, host: &str, reduced: &str, is_wildcard: bool) -> Option<Against> {
    let is_template = |domain: &&String| role.allowed_domains_template && domain.contains("{{");
    let (templates, domains): (Vec<&String>, Vec<&String>) = role.allowed_domains.iter().partition(is_template);
    let bare =
        |domain: &String| name.eq_ignore_ascii_case(domain) || (name != host && host.eq_ignore_ascii_case(domain));
    let below = |domain: &String| {
        reduced.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
            || (is_wildcard && reduced.eq_ignore_ascii_case(domain))
    };
    let fits = |domain: &String| domain.contains('*') && glob(domain, name);
    let by = |fits: &dyn Fn(&String) -> bool| domains.iter().any(|domain| fits(domain));
    let switches = [
        (role.allow_bare_domains, by(&bare), "allow_bare_domains", "ask the administrator for allow_bare_domains=true"),
        (role.allow_subdomains, by(&below), "allow_subdomains", "ask the administrator for allow_subdomains=true"),
        (role.allow_glob_domains, by(&fits), "allow_glob_domains", "ask the administrator for allow_glob_domains=true"),
    ];
    if switches.iter().any(|(on, fits, ..)| *on && *fits) {
        return None;
    }
    if !templates.is_empty() {
        return Some(Unknown("allowed_domains has templates"));
    }
    if role.allow_token_displayname {
        return Some(Unknown("allow_token_displayname is on"));
    }
    let off = switches.iter().find(|(on, fits, ..)| !*on && *fits);
    Some(match off {
        Some((_, _, switch, hint)) => Rule(format!("allowed_domains has it, but {switch} is off"), hint),
        None => outside(&role.allowed_domains),
    })
}

fn outside(domains: &[String]) -> Against {
    let hint = "set a name that it allows, or ask the administrator for the domain in allowed_domains";
    match domains {
        [] => Rule("it has no allowed_domains, and allow_any_name is off".to_owned(), hint),
        some => Rule(format!("it is not below allowed_domains ({})", some.join(", ")), hint),
    }
}

fn against_address(role: &Role, address: std::net::IpAddr) -> Option<Against> {
    let hint = "leave ip_addresses out, or ask the administrator for allow_ip_sans=true and the network";
    if !role.allow_ip_sans {
        return Some(Rule("allow_ip_sans is off".to_owned(), hint));
    }
    let networks = &role.allowed_ip_sans_cidr;
    let inside = networks.is_empty() || networks.iter().any(|network| is_in(network, address).unwrap_or_default());
    (!inside).then(|| Rule(format!("it is not in allowed_ip_sans_cidr ({})", networks.join(", ")), hint))
}

fn against_uri(role: &Role, uri: &str) -> Option<Against> {
    let hint = "set a URI that it allows, or ask the administrator for a pattern in allowed_uri_sans";
    let is_template = |pattern: &String| role.allowed_uri_sans_template && pattern.contains("{{");
    match role.allowed_uri_sans.as_slice() {
        [] => Some(Rule("allowed_uri_sans is empty".to_owned(), hint)),
        patterns if patterns.iter().any(|pattern| glob(pattern, uri)) => None,
        patterns if patterns.iter().any(is_template) => Some(Unknown("allowed_uri_sans has templates")),
        patterns => Some(Rule(format!("it fits none of allowed_uri_sans ({})", patterns.join(", ")), hint)),
    }
}
