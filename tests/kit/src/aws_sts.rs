//! A fake of the one call of AWS that a token is exchanged by: AssumeRoleWithWebIdentity.
//!
//! A fake, because the real one is no peer of a test, and because none can be made to grant keys for seconds or to be slow. A
//! form comes in, keys that are numbered go out, on loopback, until it is dropped with the test process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::encoding::claims;

/// What tests turn, and look at.
#[derive(Default)]
struct Inside {
    life: AtomicU64,
    delay_ms: AtomicU64,
    granted: AtomicUsize,
}

/// An STS that grants keys to whoever has a token.
pub struct AwsSts {
    address: String,
    inside: Arc<Inside>,
}

impl AwsSts {
    /// Starts one whose keys live for as many seconds.
    pub fn start(life: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let inside = Arc::new(Inside { life: life.into(), ..Inside::default() });
        let own = Arc::clone(&inside);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                thread::spawn(move || answer(stream, &own));
            }
        });
        Self { address, inside }
    }

    /// Gives its address, as `endpoint` wants it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Counts what it granted.
    pub fn granted(&self) -> usize {
        self.inside.granted.load(Ordering::SeqCst)
    }

    /// Lets whoever asks from now on wait.
    pub fn wait(&self, time: Duration) {
        self.inside.delay_ms.store(u64::try_from(time.as_millis()).expect("milliseconds"), Ordering::SeqCst);
    }
}

/// Secret access key and session token of every grant begin like this.
pub const SECRET: &str = "wJalrCANARYendpointKEY";

fn answer(mut stream: TcpStream, inside: &Inside) -> std::io::Result<()> {
    let form = form(&mut BufReader::new(stream.try_clone()?))?;
    thread::sleep(Duration::from_millis(inside.delay_ms.load(Ordering::SeqCst)));
    let token = form.split('&').find_map(|pair| pair.strip_prefix("WebIdentityToken=")).unwrap_or_default();
    assert!(form.contains("Action=AssumeRoleWithWebIdentity") && claims(token).is_object(), "another call");
    let number = inside.granted.fetch_add(1, Ordering::SeqCst) + 1;
    let life = Duration::from_secs(inside.life.load(Ordering::SeqCst));
    let end = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970") + life;
    let end = rfc_3339(end.as_secs());
    let body = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult>\
         <Credentials><AccessKeyId>ASIATESTKEY{number:05}</AccessKeyId><SecretAccessKey>{SECRET}{number:05}</SecretAccessKey>\
         <SessionToken>{SECRET}session{number:05}</SessionToken><Expiration>{end}</Expiration></Credentials>\
         <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/deploy/alice</Arn><AssumedRoleId>X:alice</AssumedRoleId>\
         </AssumedRoleUser></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn form(reader: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Writes a time as STS does (RFC 3339), by the days of the proleptic Gregorian calendar.
fn rfc_3339(unix: u64) -> String {
    let (days, seconds) = (unix / 86_400, unix % 86_400);
    let (mut year, mut left) = (1970, days);
    let by = u64::is_multiple_of;
    let length = |year: u64| 365 + u64::from(by(year, 4) && (!by(year, 100) || by(year, 400)));
    while left >= length(year) {
        left -= length(year);
        year += 1;
    }
    let february = length(year) - 337;
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= months[month] {
        left -= months[month];
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_rfc_3339_has_it() {
        assert_eq!(rfc_3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc_3339(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(rfc_3339(1_798_761_599), "2026-12-31T23:59:59Z");
    }
}
