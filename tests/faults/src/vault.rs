//! A fake of the two calls that a certificate takes of Vault: the login by JWT, and the signature.
//!
//! It fakes an authority that lies: another key, a start in the future, warnings. What the real OpenBao can be made to do is
//! tested with the real one. Certification requests come in, certificates of a throw-away authority go out.

use std::sync::Arc;

use credmint_test_kit::Authority;
use credmint_test_kit::random;
use serde_json::{Value, json};

use crate::fake::{Act, Received};

/// How the fake signs.
#[derive(Debug, Clone, Default)]
pub struct Lie {
    /// Seconds from now at which the certificate begins.
    pub begins_in: i64,
    /// Signs a key of its own in place of the one in the request.
    pub other_key: bool,
    /// Warnings in the answer.
    pub warnings: Vec<String>,
    /// Seconds by which its `Date` is ahead of this machine's clock.
    pub date_ahead: i64,
}

/// Gives the answer to a login, with a token of its own.
#[must_use]
pub fn login() -> Act {
    let auth = json!({ "client_token": random::secret("hvs"), "lease_duration": 300, "token_type": "batch" });
    Act::json(200, &json!({ "auth": auth }))
}

/// Gives a script that logs everybody in and signs everything, with a lie.
pub fn signing(lie: Lie) -> impl FnMut(&Received) -> Act + Send + 'static {
    let authority = Arc::new(Authority::new("Lying Authority"));
    move |request| {
        let act = if request.path.ends_with("/login") { login() } else { sign(&authority, &lie, request) };
        if lie.date_ahead == 0 { act } else { act.with("Date", &http_date(crate::unix_now() + lie.date_ahead)) }
    }
}

fn sign(authority: &Authority, lie: &Lie, request: &Received) -> Act {
    let asked: Value = serde_json::from_slice(&request.body).expect("JSON");
    let own = if lie.other_key { Some(credmint_test_kit::certificates::request("stranger").0) } else { None };
    let request = own.as_deref().or(asked["csr"].as_str()).expect("a certification request");
    let certificate = authority.sign_request(request, lie.begins_in, 3600);
    let data = json!({ "certificate": certificate, "issuing_ca": authority.certificate(), "serial_number": "01", "expiration": 0 });
    Act::json(200, &json!({ "data": data, "warnings": lie.warnings }))
}

/// Gives the issuer table for a certificate of a Vault at this address.
#[must_use]
pub fn certificate(address: &str, more: &str) -> String {
    format!(
        "[issuer.cert]\nkind = \"vault-pki\"\naddress = \"{address}\"\nauth = {{ method = \"jwt\", role = \"terraform\" }}\n\
         role = \"registry-client\"\ncommon_name = \"{{email}}\"\n{more}\n\n"
    )
}

/// Gives the issuer table for the client token of a Vault at this address.
#[must_use]
pub fn token(address: &str, more: &str) -> String {
    format!(
        "[issuer.vault]\nkind = \"vault-token\"\naddress = \"{address}\"\n\
         auth = {{ method = \"jwt\", role = \"terraform\" }}\n{more}\n\n"
    )
}

/// Writes a time as `Date` has it (RFC 9110 section 5.6.7), by days since 1970.
#[must_use]
pub fn http_date(unix: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (mut days, second) = (usize::try_from(unix / 86_400).expect("after 1970"), unix % 86_400);
    let weekday = DAYS[days % 7];
    let leap = |year: usize| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut month) = (1970, 0);
    while days >= 365 + usize::from(leap(year)) {
        days -= 365 + usize::from(leap(year));
        year += 1;
    }
    let length = |month: usize| match month {
        1 => 28 + usize::from(leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    while days >= length(month) {
        days -= length(month);
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT", days + 1, MONTHS[month])
}

#[cfg(test)]
mod tests {
    use super::http_date;

    #[test]
    fn dates_are_those_of_the_rfc() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(1_709_164_800), "Thu, 29 Feb 2024 00:00:00 GMT");
    }
}
