//! A fake of two calls of AWS's Security Token Service: AssumeRoleWithWebIdentity and GetCallerIdentity.
//!
//! A fake, because the real one needs an account of AWS, and moto accepts every token. It is strict: [`judge`] verifies a token with the keys that the
//! real OpenID Provider publishes, and a signature with the keys that were handed out. An issuer comes in at its start, an address goes out;
//! it answers on loopback until the test process ends. (`aws_sts` beside it is for slowness and short lives.) Facts: `provider-credentials.md` §2.2.

mod judge;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::encoding::claims;
use crate::{OpenIdProvider, random};

use self::judge::{Refusal, signed_by, web_identity};

/// The region that it stands in.
pub const REGION: &str = "eu-central-1";
/// The role that it gives.
pub const ROLE: &str = "arn:aws:iam::123456789012:role/build";
/// The audience that its account registered.
pub const AUDIENCE: &str = "sts.amazonaws.com";

/// STS of one account, which trusts one issuer.
pub struct Sts {
    address: String,
    account: Arc<Mutex<Account>>,
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct StsCall {
    /// The action.
    pub action: String,
    /// Session name that was asked for, or that the keys are of.
    pub session: String,
    /// Why it was refused; empty: it was not.
    pub refused: String,
}

/// Keys that were handed out.
#[derive(Clone)]
struct Keys {
    id: String,
    secret: String,
    token: String,
    session: String,
}

struct Account {
    issuer: String,
    /// Seconds that keys live; those of the n-th exchange so many times n, when they grow.
    life: u64,
    grows: bool,
    keys: Vec<Keys>,
    calls: Vec<StsCall>,
}

impl Sts {
    /// Starts one that trusts this provider; its keys live for an hour.
    pub fn start(provider: &OpenIdProvider) -> Self {
        Self::start_with(provider, 3_600, false)
    }

    /// Starts one whose keys live for so many seconds when no life is asked for; with `grows`, those of the n-th exchange n times as long.
    pub fn start_with(provider: &OpenIdProvider, life: u64, grows: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let issuer = provider.issuer().to_owned();
        let account = Account { issuer, life, grows, keys: Vec::new(), calls: Vec::new() };
        let account = Arc::new(Mutex::new(account));
        let kept = Arc::clone(&account);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &kept);
            }
        });
        Self { address, account }
    }

    /// Gives its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Gives the settings of an issuer that asks it for the role.
    pub fn issuer(&self, name: &str, lines: &str) -> String {
        let address = &self.address;
        format!(
            "[issuer.{name}]\nkind = \"aws-sts\"\nrole_arn = \"{ROLE}\"\nregion = \"{REGION}\"\nendpoint = \"{address}\"\n{lines}\n\n"
        )
    }

    /// Gives every secret that it handed out so far: secret access keys and session tokens.
    pub fn secrets(&self) -> Vec<String> {
        self.account().keys.iter().flat_map(|keys| [keys.secret.clone(), keys.token.clone()]).collect()
    }

    /// Gives what was asked, by the action.
    pub fn asked(&self, action: &str) -> Vec<StsCall> {
        self.account().calls.iter().filter(|call| call.action == action).cloned().collect()
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().expect("nobody panicked")
    }
}

/// A request as it arrived, with header names in lower case.
struct Arrived {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn answer(mut stream: TcpStream, account: &Mutex<Account>) -> std::io::Result<()> {
    let arrived = read(&stream)?;
    let form = judge::form(&String::from_utf8_lossy(&arrived.body));
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    let mut account = account.lock().expect("nobody panicked");
    let action = field("Action").to_owned();
    let judged = match action.as_str() {
        "AssumeRoleWithWebIdentity" => exchanged(&mut account, &form),
        "GetCallerIdentity" => signed_by(&arrived, &account.keys, now()).map(|keys| (identity(&keys), keys.session)),
        _ => Err(("InvalidAction", format!("Could not find operation {action}"))),
    };
    let named = field("RoleSessionName").to_owned();
    let session = judged.as_ref().map_or(named, |(_, session)| session.clone());
    let refused = judged.as_ref().err().map(|(code, why)| format!("{code}: {why}")).unwrap_or_default();
    account.calls.push(StsCall { action, session, refused });
    let (status, body) = match judged {
        Ok((body, _)) => ("200 OK", body),
        Err((code, message)) => ("400 Bad Request", refusal(code, &message)),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn read(stream: &TcpStream) -> std::io::Result<Arrived> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Arrived { method, target, headers, body })
}

/// Hands out new keys for a token that the trust policy lets in.
fn exchanged(account: &mut Account, form: &BTreeMap<String, String>) -> Result<(String, String), Refusal> {
    let asked = web_identity(form, &account.issuer, now())?;
    let times = if account.grows { account.keys.len() as u64 + 1 } else { 1 };
    let end = now() + asked.unwrap_or(account.life * times);
    let session = form.get("RoleSessionName").cloned().unwrap_or_default();
    let number = account.keys.len() + 1;
    let (secret, token) = (random::secret("secret-key"), random::secret("session"));
    let keys = Keys { id: format!("ASIASTRICTSTRICT{number:04}"), secret, token, session: session.clone() };
    let body = granted(&keys, end, &form["WebIdentityToken"]);
    account.keys.push(keys);
    Ok((body, session))
}

fn granted(keys: &Keys, end: u64, token: &str) -> String {
    let Keys { id, secret, token: session_token, session } = keys;
    let claims = claims(token);
    let subject = claims["sub"].as_str().unwrap_or_default();
    let end = rfc3339(end);
    format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult>\
         <Audience>{AUDIENCE}</Audience><AssumedRoleUser><AssumedRoleId>AROASTRICT:{session}</AssumedRoleId>\
         <Arn>arn:aws:sts::123456789012:assumed-role/build/{session}</Arn></AssumedRoleUser>\
         <SubjectFromWebIdentityToken>{subject}</SubjectFromWebIdentityToken><Credentials><AccessKeyId>{id}</AccessKeyId>\
         <SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{session_token}</SessionToken><Expiration>{end}</Expiration></Credentials>\
         </AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>"
    )
}

fn identity(keys: &Keys) -> String {
    let session = &keys.session;
    format!(
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
         <Arn>arn:aws:sts::123456789012:assumed-role/build/{session}</Arn><UserId>AROASTRICT:{session}</UserId><Account>123456789012</Account>\
         </GetCallerIdentityResult><ResponseMetadata><RequestId>r-2</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
    )
}

fn refusal(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>{code}</Code>\
         <Message>{message}</Message></Error><RequestId>r-3</RequestId></ErrorResponse>"
    )
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(Duration::ZERO, |since| since).as_secs()
}

/// Writes a time as `2026-12-01T03:04:05Z`: the days since 1970 become a date, with years that begin in March.
fn rfc3339(time: u64) -> String {
    let (days, rest) = (time / 86_400 + 719_468, time % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month > 9 { (year + era * 400 + 1, month - 9) } else { (year + era * 400, month + 3) };
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_written_as_sts_writes_them() {
        assert_eq!(super::rfc3339(1_709_210_096), "2024-02-29T12:34:56Z");
        assert_eq!(super::rfc3339(1_767_225_599), "2025-12-31T23:59:59Z");
    }
}
