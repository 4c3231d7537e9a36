//! A fake of the one call of IAM Roles Anywhere: CreateSession.
//!
//! A fake, because the real one needs an account of AWS. It is strict: what it grants is signed by the key of a certificate that leads to
//! its trust anchor, and every request is judged by `judge`, which rebuilds what was signed. A trust anchor comes in at its start, an address goes out;
//! it answers on loopback until it is dropped with the test process.

mod judge;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::SystemTime;

use serde_json::json;

use crate::arrived::Arrived;
use crate::random;

use self::judge::judge;

const REGION: &str = "eu-central-1";
const ROLE: &str = "arn:aws:iam::123456789012:role/build";

/// Roles Anywhere of one account, with one trust anchor.
pub struct RolesAnywhere {
    address: String,
    secret: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The serial number by which the key is named.
    pub serial: String,
    /// The algorithm of the signature.
    pub algorithm: String,
    /// How many certificates came above the first.
    pub above: usize,
    /// The body.
    pub body: String,
    /// Why it was refused; empty: it was not.
    pub refused: String,
}

impl RolesAnywhere {
    /// Starts one that trusts what leads to this certificate (PEM).
    pub fn start(anchor: &str) -> Self {
        let (_, pem) = x509_parser::pem::parse_x509_pem(anchor.as_bytes()).expect("a certificate in PEM");
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let (secret, asked) = (random::secret("key"), Arc::new(Mutex::new(Vec::new())));
        let (given, kept) = (secret.clone(), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &pem.contents, &given, &kept);
            }
        });
        Self { address, secret, asked }
    }

    /// Gives the settings of an issuer that asks it for a session; `own` is the issuer of its certificate.
    pub fn issuer(&self, name: &str, own: &str) -> String {
        let arn = format!("arn:aws:rolesanywhere:{REGION}:123456789012");
        format!(
            "[issuer.{name}]\nkind = \"aws-roles-anywhere\"\ntrust_anchor_arn = \"{arn}:trust-anchor/0a-1b\"\n\
             profile_arn = \"{arn}:profile/2c-3d\"\nrole_arn = \"{ROLE}\"\nendpoint = \"{}\"\ncertificate_issuer = \"{own}\"\n\n",
            self.address
        )
    }

    /// Gives the secret access key that it hands out.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Gives what it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

fn answer(mut stream: TcpStream, anchor: &[u8], secret: &str, kept: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let Arrived { method, target, headers, body } = &arrived;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let judged = judge(&judge::Arrived { method, target, headers, body }, REGION, anchor, now);
    let refused = judged.as_ref().err().map(|(code, why)| format!("{code}: {why}")).unwrap_or_default();
    kept.lock().expect("nobody panicked").push(asked(headers, body, refused));
    let (status, error, body) = match judged {
        Ok(()) => ("201 Created", "", session(secret, now)),
        Err((code, message)) => ("403 Forbidden", code, json!({ "message": message })),
    };
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-Amzn-ErrorType: {error}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn asked(headers: &BTreeMap<String, String>, body: &[u8], refused: String) -> Asked {
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let authorization = header("authorization");
    let (algorithm, rest) = authorization.split_once(' ').unwrap_or_default();
    let serial = rest.trim_start_matches("Credential=").split('/').next().unwrap_or_default();
    Asked {
        serial: serial.to_owned(),
        algorithm: algorithm.to_owned(),
        above: header("x-amz-x509-chain").split(',').filter(|one| !one.is_empty()).count(),
        body: String::from_utf8_lossy(body).into_owned(),
        refused,
    }
}

/// Writes the reply; the session ends in an hour, on the second.
fn session(secret: &str, now: i64) -> serde_json::Value {
    let (days, rest) = ((now + 3_600) / 86_400, (now + 3_600) % 86_400);
    // Days since 1970-01-01 to a date, with years that begin in March.
    let day = days + 719_468;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400 + i64::from(month > 9), if month > 9 { month - 9 } else { month + 3 });
    let end = format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60);
    let credentials = json!({
        "accessKeyId": "ASIASESSIONSESSION01", "secretAccessKey": secret, "sessionToken": format!("session/{secret}"),
        "expiration": end,
    });
    json!({ "credentialSet": [{ "credentials": credentials, "roleArn": ROLE }], "subjectArn": "arn:aws:x" })
}
