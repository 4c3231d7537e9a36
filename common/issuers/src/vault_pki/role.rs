//! A role of a PKI secrets engine, as far as it decides about our requests.
//! The data of a read comes in, plain values go out; what an older server leaves out has that server's default.
//! Judges nothing. Lists may be texts with commas, and times texts with a unit: so wrote Vault before 0.10.

use std::time::Duration;

use serde_json::Value;

/// Holds the rules of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the role's own switches")]
pub(crate) struct Role {
    pub(crate) key_type: String,
    pub(crate) key_bits: u64,
    pub(crate) allow_any_name: bool,
    pub(crate) allow_bare_domains: bool,
    pub(crate) allow_glob_domains: bool,
    pub(crate) allow_subdomains: bool,
    pub(crate) allow_localhost: bool,
    pub(crate) allow_token_displayname: bool,
    pub(crate) allow_wildcard_certificates: bool,
    pub(crate) allowed_domains: Vec<String>,
    pub(crate) allowed_domains_template: bool,
    pub(crate) enforce_hostnames: bool,
    pub(crate) cn_validations: Vec<String>,
    pub(crate) require_cn: bool,
    pub(crate) use_csr_sans: bool,
    pub(crate) allow_ip_sans: bool,
    pub(crate) allowed_ip_sans_cidr: Vec<String>,
    pub(crate) allowed_uri_sans: Vec<String>,
    pub(crate) allowed_uri_sans_template: bool,
    /// Zero is what the mount says.
    pub(crate) ttl: Duration,
    /// Zero is what the mount says.
    pub(crate) max_ttl: Duration,
    /// A fixed end, if there is one.
    pub(crate) not_after: String,
    pub(crate) client_flag: bool,
    /// Whether another flag puts a usage in.
    pub(crate) other_flags: bool,
    pub(crate) ext_key_usage: Vec<String>,
    pub(crate) issuer_ref: String,
}

impl Role {
    /// Reads the data of an answer.
    pub(crate) fn of(data: &Value) -> Self {
        let on = |name: &str| flag(data, name, true);
        let off = |name: &str| flag(data, name, false);
        Self {
            key_type: text(data, "key_type", "rsa"),
            key_bits: data.get("key_bits").and_then(number).unwrap_or_default(),
            allow_any_name: off("allow_any_name"),
            allow_bare_domains: off("allow_bare_domains") || off("allow_base_domain"),
            allow_glob_domains: off("allow_glob_domains"),
            allow_subdomains: off("allow_subdomains"),
            allow_localhost: on("allow_localhost"),
            allow_token_displayname: off("allow_token_displayname"),
            allow_wildcard_certificates: on("allow_wildcard_certificates"),
            allowed_domains: list(data, "allowed_domains"),
            allowed_domains_template: off("allowed_domains_template"),
            enforce_hostnames: on("enforce_hostnames"),
            cn_validations: list(data, "cn_validations"),
            require_cn: on("require_cn"),
            use_csr_sans: on("use_csr_sans"),
            allow_ip_sans: on("allow_ip_sans"),
            allowed_ip_sans_cidr: list(data, "allowed_ip_sans_cidr"),
            allowed_uri_sans: list(data, "allowed_uri_sans"),
            allowed_uri_sans_template: off("allowed_uri_sans_template"),
            ttl: duration(data, "ttl"),
            max_ttl: duration(data, "max_ttl"),
            not_after: text(data, "not_after", ""),
            client_flag: on("client_flag"),
            other_flags: on("server_flag") || off("code_signing_flag") || off("email_protection_flag"),
            ext_key_usage: [list(data, "ext_key_usage"), list(data, "ext_key_usage_oids")].concat(),
            issuer_ref: text(data, "issuer_ref", "default"),
        }
    }
}

fn flag(data: &Value, name: &str, default: bool) -> bool {
    match data.get(name) {
        Some(Value::Bool(value)) => *value,
        Some(Value::String(text)) => text == "true",
        _ => default,
    }
}

fn text(data: &Value, name: &str, default: &str) -> String {
    let text = data.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.unwrap_or(default).to_owned()
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn list(data: &Value, name: &str) -> Vec<String> {
    let parts: Vec<&str> = match data.get(name) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split(',').collect(),
        _ => Vec::new(),
    };
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Reads seconds, or a text like `72h` or `1h30m0s`; what cannot be read counts as unset.
fn duration(data: &Value, name: &str) -> Duration {
    let Some(value) = data.get(name) else { return Duration::ZERO };
    let of_text = || value.as_str().and_then(seconds).unwrap_or_default();
    Duration::from_secs(number(value).unwrap_or_else(of_text))
}

fn seconds(text: &str) -> Option<u64> {
    let (mut total, mut digits) = (0_u64, String::new());
    for character in text.chars() {
        let unit = match character {
            '0'..='9' => {
                digits.push(character);
                continue;
            }
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        total = total.checked_add(std::mem::take(&mut digits).parse::<u64>().ok()?.checked_mul(unit)?)?;
    }
    digits.is_empty().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_role_of_today_is_read() {
        let role = Role::of(&json!({
            "key_type": "any", "key_bits": 0, "allowed_domains": ["a.example"], "ttl": 0, "max_ttl": 7200,
            "client_flag": false, "server_flag": false, "cn_validations": ["email", "hostname"], "issuer_ref": "one",
        }));
        assert_eq!((role.key_type.as_str(), role.max_ttl.as_secs(), role.issuer_ref.as_str()), ("any", 7200, "one"));
        assert!(!role.client_flag && !role.other_flags && role.use_csr_sans && role.cn_validations.len() == 2);
    }

    #[test]
    fn a_role_of_long_ago_is_read() {
        let role = Role::of(&json!({
            "allowed_domains": "a.example, b.example,", "max_ttl": "72h", "ttl": "", "key_bits": "2048",
            "allow_base_domain": true, "allow_any_name": "true",
        }));
        assert_eq!(role.allowed_domains, ["a.example", "b.example"]);
        assert_eq!((role.max_ttl.as_secs(), role.ttl.as_secs(), role.key_bits), (259_200, 0, 2048));
        assert!(role.allow_bare_domains && role.allow_any_name && role.key_type == "rsa");
        assert!(
            role.cn_validations.is_empty() && role.allow_wildcard_certificates,
            "not there means not held against us"
        );
        assert_eq!((seconds("1h30m0s"), seconds("soon"), seconds("5")), (Some(5_400), None, None));
    }
}
