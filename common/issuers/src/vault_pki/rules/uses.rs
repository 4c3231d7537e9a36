//! `client_flag` and `ext_key_usage`: what a certificate may be used for.
//! A role comes in, a finding goes out.
//! Touches nothing. RFC 5280 §4.2.1.12.

use super::{Effect, Finding};
use crate::vault_pki::role::Role;

const CLIENT_AUTH: [&str; 3] = ["clientauth", "extkeyusageclientauth", "1.3.6.1.5.5.7.3.2"];

pub(super) fn judge(name: &str, role: &Role) -> Option<Finding> {
    let names_it = |usage: &String| CLIENT_AUTH.contains(&usage.to_ascii_lowercase().as_str());
    if role.client_flag || role.ext_key_usage.iter().any(names_it) {
        return None;
    }
    let hint = "ask the administrator for client_flag=true";
    Some(if role.other_flags || !role.ext_key_usage.is_empty() {
        let what = format!("client_flag of role {name} is off: its certificates are not for client authentication");
        Finding::new(Effect::Refuses, what, hint)
    } else {
        let what = format!(
            "client_flag of role {name} is off: its certificates name no use, and some servers want clientAuth"
        );
        Finding::new(Effect::Changes, what, hint)
    })
}
