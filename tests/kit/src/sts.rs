//! A fake of three calls of AWS's Security Token Service: AssumeRoleWithWebIdentity, AssumeRole and GetCallerIdentity.
//!
//! A fake, because the real one needs an account of AWS and cannot be made slow, and moto accepts every token. It is strict: `judge` verifies a token
//! with the keys that the real OpenID Provider publishes, and a signature with the keys that were handed out; a life of seconds is all that it may grant
//! and the real one may not. An issuer comes in at its start, an address goes out; it answers on loopback until the test process ends.
//! Facts: `provider-credentials.md` §2.2.

mod judge;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::arrived::Arrived;
use crate::encoding::{claims, rfc3339, unix_time};
use crate::{OpenIdProvider, random};

use self::judge::{Refusal, signed_by};

/// The region that it stands in.
pub const REGION: &str = "eu-central-1";
/// The role that it gives.
pub const ROLE: &str = "arn:aws:iam::123456789012:role/build";
/// The role that this one may assume.
pub const NEXT: &str = "arn:aws:iam::210987654321:role/deploy";
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
    role: &'static str,
    session: String,
    end: u64,
}

struct Account {
    issuer: String,
    /// Seconds that keys live; those of the n-th exchange so many times n, when they grow.
    life: u64,
    grows: bool,
    /// How long whoever asks from now on waits.
    delay: Duration,
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
        let account = Account { issuer, life, grows, delay: Duration::ZERO, keys: Vec::new(), calls: Vec::new() };
        let account = Arc::new(Mutex::new(account));
        let kept = Arc::clone(&account);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || answer(stream, &kept));
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

    /// Counts the keys that it handed out.
    pub fn granted(&self) -> usize {
        self.account().keys.len()
    }

    /// Lets whoever asks from now on wait.
    pub fn wait(&self, time: Duration) {
        self.account().delay = time;
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().expect("nobody panicked")
    }
}

fn answer(mut stream: TcpStream, account: &Mutex<Account>) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let form = judge::form(&String::from_utf8_lossy(&arrived.body));
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    let delay = account.lock().expect("nobody panicked").delay;
    thread::sleep(delay);
    let mut account = account.lock().expect("nobody panicked");
    let action = field("Action").to_owned();
    let judged = match action.as_str() {
        "AssumeRoleWithWebIdentity" => exchanged(&mut account, &form),
        "AssumeRole" => assumed(&mut account, &form, &arrived),
        "GetCallerIdentity" => {
            signed_by(&arrived, &account.keys, unix_time()).map(|keys| (identity(&keys), keys.session))
        }
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

/// Hands out new keys for a token that the trust policy lets in.
fn exchanged(account: &mut Account, form: &BTreeMap<String, String>) -> Result<(String, String), Refusal> {
    let asked = judge::web_identity(form, &account.issuer, unix_time())?;
    let subject = claims(&form["WebIdentityToken"])["sub"].as_str().unwrap_or_default().to_owned();
    let more =
        format!("<Audience>{AUDIENCE}</Audience><SubjectFromWebIdentityToken>{subject}</SubjectFromWebIdentityToken>");
    Ok(hand_out(account, ROLE, form, asked, &more))
}

/// Hands out keys of the next role to who signed with those of the first.
fn assumed(
    account: &mut Account,
    form: &BTreeMap<String, String>,
    arrived: &Arrived,
) -> Result<(String, String), Refusal> {
    let keys = signed_by(arrived, &account.keys, unix_time())?;
    let asked = judge::next_role(form, keys.role)?;
    Ok(hand_out(account, NEXT, form, asked, ""))
}

/// Makes keys; gives the answer, and the session.
fn hand_out(
    account: &mut Account,
    role: &'static str,
    form: &BTreeMap<String, String>,
    asked: Option<u64>,
    more: &str,
) -> (String, String) {
    let number = account.keys.len() + 1;
    let times = if account.grows { number as u64 } else { 1 };
    let end = unix_time() + asked.unwrap_or(account.life * times);
    let session = form.get("RoleSessionName").cloned().unwrap_or_default();
    let (secret, token) = (random::secret("secret-key"), random::secret("session"));
    let keys = Keys { id: format!("ASIASTRICTSTRICT{number:04}"), secret, token, role, session: session.clone(), end };
    let body = granted(&form["Action"], &keys, &rfc3339(end), more);
    account.keys.push(keys);
    (body, session)
}

fn granted(action: &str, keys: &Keys, end: &str, more: &str) -> String {
    let Keys { id, secret, token, session, .. } = keys;
    let arn = arn(keys);
    format!(
        "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result>{more}\
         <AssumedRoleUser><AssumedRoleId>AROASTRICT:{session}</AssumedRoleId><Arn>{arn}</Arn></AssumedRoleUser>\
         <Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{token}</SessionToken>\
         <Expiration>{end}</Expiration></Credentials></{action}Result>\
         <ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></{action}Response>"
    )
}

/// Gives the session of a role.
fn arn(keys: &Keys) -> String {
    keys.role.replace(":iam:", ":sts:").replace(":role/", ":assumed-role/") + "/" + &keys.session
}

fn identity(keys: &Keys) -> String {
    let (session, arn) = (&keys.session, arn(keys));
    let account = arn.split(':').nth(4).unwrap_or_default();
    format!(
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
         <Arn>{arn}</Arn><UserId>AROASTRICT:{session}</UserId><Account>{account}</Account>\
         </GetCallerIdentityResult><ResponseMetadata><RequestId>r-2</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
    )
}

fn refusal(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>{code}</Code>\
         <Message>{message}</Message></Error><RequestId>r-3</RequestId></ErrorResponse>"
    )
}
