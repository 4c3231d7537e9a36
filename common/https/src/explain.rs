//! From a library's error to ours: the cause is often several layers down.
//! An error with its chain of causes comes in, a variant goes out.
//! Takes no text that may hold a URL: reqwest's own is never used, only what lies below it.

use std::error::Error;
use std::io;

use credmint_vocabulary::{Timestamp, printable};
use rustls::{AlertDescription, CertificateError, InvalidMessage, OtherError};

use crate::error::HttpsError;
use crate::pins::NotPinned;
use crate::resolver::NoAddress;
use crate::tls::Presented;

/// Explains why a connection was not made, or broke.
pub(crate) fn explain(
    peer: &str,
    error: &(dyn Error + 'static),
    connecting: bool,
    presented: &Presented,
) -> HttpsError {
    let causes = causes(error);
    if let Some(why) = no_tunnel(&causes) {
        return HttpsError::Tunnel { peer: peer.to_owned(), why };
    }
    let typed = causes.iter().find_map(|cause| by_type(peer, *cause));
    let told = || causes.iter().find_map(|cause| by_text(peer, &cause.to_string()));
    if let Some(found) = typed.or_else(told) {
        return found;
    }
    let why = words(causes.last().copied());
    let peer = peer.to_owned();
    match presented.suspicion() {
        _ if connecting && causes.iter().any(|cause| is_closed(*cause)) => {
            HttpsError::Handshake { peer, why: CLOSED.to_owned() }
        }
        _ if connecting => HttpsError::Connect { peer, why },
        Some(suspicion) => HttpsError::Stream { peer, why: format!("{why}, {suspicion}") },
        None => HttpsError::Stream { peer, why },
    }
}

/// Explains why a connection was not made over which we say nothing ourselves.
pub(crate) fn connecting(peer: &str, error: &(dyn Error + 'static)) -> HttpsError {
    let mut causes = vec![error];
    causes.extend(self::causes(error));
    if let Some(why) = no_tunnel(&causes) {
        return HttpsError::Tunnel { peer: peer.to_owned(), why };
    }
    let typed = causes.iter().find_map(|cause| by_type(peer, *cause));
    typed.unwrap_or_else(|| HttpsError::Connect { peer: peer.to_owned(), why: words(causes.last().copied()) })
}

/// Gives the deepest cause in words.
pub(crate) fn deepest(error: &(dyn Error + 'static)) -> String {
    words(causes(error).last().copied().or(Some(error)))
}

/// Lists all causes; `io::Error` passes over the one that it wraps, so that one is taken out by hand.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> Vec<&'e (dyn Error + 'static)> {
    let mut all = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next.filter(|_| all.len() < 24) {
        all.push(cause);
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => cause.source(),
        };
    }
    all
}

/// Tells that the server closed: while connecting, that is in the handshake.
fn is_closed(cause: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{ConnectionReset, UnexpectedEof};
    cause.downcast_ref::<io::Error>().is_some_and(|error| matches!(error.kind(), UnexpectedEof | ConnectionReset))
}

fn by_type(peer: &str, cause: &(dyn Error + 'static)) -> Option<HttpsError> {
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(by_tls(peer.to_owned(), error));
    }
    if let Some(NoAddress(why)) = cause.downcast_ref() {
        return Some(HttpsError::Resolve { peer: peer.to_owned(), why: why.clone() });
    }
    let late = cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    late.then(|| HttpsError::Timeout { peer: peer.to_owned() })
}

fn by_tls(peer: String, error: &rustls::Error) -> HttpsError {
    match error {
        rustls::Error::InvalidCertificate(error) => by_certificate(peer, error),
        rustls::Error::AlertReceived(alert) => match refusal(*alert) {
            Some(why) => HttpsError::ClientCertificateRefused { peer, why },
            None => HttpsError::Handshake { peer, why: format!("it says {alert:?}") },
        },
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            HttpsError::Handshake { peer, why: NO_TLS.to_owned() }
        }
        other => HttpsError::Handshake { peer, why: printable(&other.to_string(), 160) },
    }
}

fn by_certificate(peer: String, error: &CertificateError) -> HttpsError {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => HttpsError::UnknownAuthority { peer },
        CertificateError::NotValidForName => HttpsError::WrongName { peer, presented: String::new() },
        CertificateError::NotValidForNameContext { presented, .. } => {
            HttpsError::WrongName { peer, presented: printable(&presented.join(", "), 300) }
        }
        CertificateError::Expired => HttpsError::CertificateExpired { peer, not_after: None },
        CertificateError::ExpiredContext { not_after, .. } => {
            let seconds = i64::try_from(not_after.as_secs()).ok();
            HttpsError::CertificateExpired { peer, not_after: seconds.map(Timestamp::from_unix) }
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            HttpsError::CertificateNotYetValid { peer }
        }
        CertificateError::Other(OtherError(other)) if other.downcast_ref::<NotPinned>().is_some() => {
            let seen = other.downcast_ref::<NotPinned>().map(|pin| pin.seen.clone()).unwrap_or_default();
            HttpsError::NotPinned { peer, seen }
        }
        other => HttpsError::ServerCertificate { peer, why: printable(&other.to_string(), 300) },
    }
}

/// Says what an alert about the client certificate means (RFC 8446 §6.2); `None` for alerts about something else.
const fn refusal(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "it wants one, and none was presented (certificate_required)"
        }
        AlertDescription::UnknownCA => "it does not know the authority (unknown_ca)",
        AlertDescription::CertificateExpired => "it counts the certificate as expired (certificate_expired)",
        AlertDescription::CertificateRevoked => "the certificate is revoked (certificate_revoked)",
        AlertDescription::BadCertificate => "it does not accept the certificate (bad_certificate)",
        AlertDescription::CertificateUnknown => "it does not accept the certificate (certificate_unknown)",
        AlertDescription::UnsupportedCertificate => "it takes no certificate of this kind (unsupported_certificate)",
        AlertDescription::AccessDenied => "it accepts the certificate, but not the bearer (access_denied)",
        _ => return None,
    })
}

/// Tells a proxy's failure from the server's: hyper-util's error for it has no public type, only a text of its own.
fn no_tunnel(causes: &[&(dyn Error + 'static)]) -> Option<String> {
    const PREFIX: &str = "tunnel error: ";
    causes.iter().find(|cause| cause.to_string().starts_with(PREFIX))?;
    Some(words(causes.last().copied()).trim_start_matches(PREFIX).to_owned())
}

/// HTTP/2 keeps of an alert only its text.
fn by_text(peer: &str, text: &str) -> Option<HttpsError> {
    const ALERTS: [AlertDescription; 9] = [
        AlertDescription::CertificateRequired,
        AlertDescription::NoCertificate,
        AlertDescription::UnknownCA,
        AlertDescription::CertificateExpired,
        AlertDescription::CertificateRevoked,
        AlertDescription::BadCertificate,
        AlertDescription::CertificateUnknown,
        AlertDescription::UnsupportedCertificate,
        AlertDescription::AccessDenied,
    ];
    let (_, name) = text.split_once("received fatal alert: ")?;
    let alert = ALERTS.into_iter().find(|alert| name.starts_with(&format!("{alert:?}")))?;
    refusal(alert).map(|why| HttpsError::ClientCertificateRefused { peer: peer.to_owned(), why })
}

/// Gives the deepest cause in words.
fn words(deepest: Option<&(dyn Error + 'static)>) -> String {
    deepest.map_or_else(|| "no cause was given".to_owned(), |cause| printable(&cause.to_string(), 160))
}

const NO_TLS: &str = "what it answers is not TLS";
const CLOSED: &str = "it closed the connection before it had said who it is; does it speak TLS at all?";
