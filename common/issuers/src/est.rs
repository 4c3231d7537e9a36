//! `kind = "est"`: a certificate by Enrolment over Secure Transport, for a key that we make.
//! Templates, the subject token and the present certificate come in, a client identity that was checked goes out.
//! Sends the token or password to the first request's door alone. RFC 7030 §4.2; RFC 8951 on its encodings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_client_identity::{AssembleError, Bundle, ClientIdentity};
use credmint_https::Answer;
use credmint_identities::SubjectToken;
use credmint_settings::{Est, EstAuth};
use credmint_vocabulary::Timestamp;
use http::{HeaderValue, header};
use zeroize::Zeroizing;

use crate::authority::{Authority, is_page, may_be_asked_anew};
use crate::error::GrantError;
use crate::grant::{Grant, Granted, World, needed, refuse_expired};
use crate::pending::Pending;
use crate::prepared::{Prepared, clock_note};
use crate::vault::{client_identity, read_needed};
use crate::wiped::sensitive;

/// What proves who asks.
#[derive(Default)]
struct Proof {
    authorization: Option<HeaderValue>,
    client: Option<Arc<ClientIdentity>>,
}

/// What a request came to, when it was no error.
enum Answered {
    /// Certificates, and by how much our clock is ahead.
    Signed(Bundle, Option<i64>),
    /// Somebody has to approve first.
    Later(Option<Duration>),
}

/// Renews by the present certificate where there is one, and enrols anew where there is none or that is refused: a certificate
/// that cannot renew itself is no dead end.
pub(crate) async fn grant(
    settings: &Est,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let authority = Authority::at(&settings.address, &settings.peer, world)?;
    let renewed = match world.before.present {
        Some(present) => renew(settings, present, &authority, world).await,
        None => Ok(None),
    };
    let refused = match renewed {
        Ok(Some(grant)) => return Ok(grant),
        Ok(None) => None,
        Err(error) if may_be_asked_anew(&error) => Some(format!("enrolled anew, because the renewal failed: {error}")),
        Err(error) => return Err(error),
    };
    refuse_expired(subject, world.now)?;
    let mut grant = enrol(settings, subject, &authority, world).await?;
    grant.notes.extend(refused);
    Ok(grant)
}

/// Asks for another certificate like the present one, for another key (RFC 7030 §4.2.2).
async fn renew(
    settings: &Est,
    present: &Arc<ClientIdentity>,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Option<Grant>, GrantError> {
    let kept = world.before.requests.take(world.before.entry, world.now).filter(|pending| pending.renews);
    let pending = match kept {
        Some(pending) => pending,
        None => match Prepared::again(&settings.wanted, present).await? {
            Some(prepared) => Pending::sent(prepared, true, world.now),
            None => return Ok(None),
        },
    };
    let proof = Proof { client: Some(Arc::clone(present)), ..Proof::default() };
    ask("/simplereenroll", pending, &proof, authority, world).await.map(Some)
}

/// Asks for a first certificate (RFC 7030 §4.2.1).
async fn enrol(
    settings: &Est,
    subject: Option<&SubjectToken>,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let kept = world.before.requests.take(world.before.entry, world.now).filter(|pending| !pending.renews);
    let pending = match kept {
        Some(pending) => pending,
        None => Pending::sent(Prepared::new(&settings.wanted, subject).await?, false, world.now),
    };
    match proof(&settings.auth, subject, world).await {
        Ok(proof) => ask("/simpleenroll", pending, &proof, authority, world).await,
        Err(error) => {
            world.before.requests.keep(world.before.entry, pending);
            Err(error)
        }
    }
}

async fn proof(auth: &EstAuth, subject: Option<&SubjectToken>, world: &World<'_>) -> Result<Proof, GrantError> {
    let authorization = match auth {
        EstAuth::Bearer => Some(sensitive(&Zeroizing::new(format!("Bearer {}", needed(subject)?.token.expose())))?),
        EstAuth::Basic { username, password } => {
            let password = read_needed(password, "the password", world).await?;
            let pair = Zeroizing::new(format!("{username}:{}", password.expose()));
            Some(sensitive(&Zeroizing::new(format!("Basic {}", *Zeroizing::new(STANDARD.encode(pair.as_bytes())))))?)
        }
        EstAuth::Cert { certificate, key } => {
            let client = Some(Arc::new(client_identity(certificate, key, world).await?));
            return Ok(Proof { client, authorization: None });
        }
        _ => return Err(GrantError::Settings("a method of EST that this version does not know".to_owned())),
    };
    Ok(Proof { authorization, client: None })
}

/// Sends the request until it is answered or there is no time left, and keeps it where the answer is still to come.
async fn ask(
    path: &str,
    mut pending: Pending,
    proof: &Proof,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let keep = |pending| world.before.requests.keep(world.before.entry, pending);
    if let Some(left) = too_early(&pending, world.now) {
        keep(pending);
        return Err(waiting(authority, Some(left)));
    }
    let began = Instant::now();
    let sent = send_until_answered(path, &pending, proof, authority, world).await;
    match sent {
        Ok(Answered::Signed(bundle, clock_ahead)) => {
            let bundle = completed(bundle, authority).await;
            assemble(&pending.prepared, bundle, clock_ahead, authority, world.now)
        }
        Ok(Answered::Later(after)) => {
            pending.not_before = Some(world.now.plus(began.elapsed() + after.unwrap_or(UNSAID)));
            keep(pending);
            Err(waiting(authority, after))
        }
        // The request may have arrived, and may be waiting there by now.
        Err(error @ (GrantError::Unreachable(_) | GrantError::Failing { .. } | GrantError::Throttled { .. })) => {
            keep(pending);
            Err(error)
        }
        Err(error) => Err(error),
    }
}

fn too_early(pending: &Pending, now: Timestamp) -> Option<Duration> {
    pending.not_before.map(|at| at.remaining(now)).filter(|left| !left.is_zero())
}

fn waiting(authority: &Authority<'_>, retry_after: Option<Duration>) -> GrantError {
    GrantError::AwaitingApproval { who: authority.who.clone(), retry_after }
}

/// Asks again as long as that makes sense before the deadline (RFC 7030 §4.2.3: the same request, not before it is time).
async fn send_until_answered(
    path: &str,
    pending: &Pending,
    proof: &Proof,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Answered, GrantError> {
    loop {
        let answered = send(path, pending, proof, authority, world).await?;
        let Answered::Later(Some(after)) = answered else { return Ok(answered) };
        let after = after.max(SHORTEST);
        if after + TIME_FOR_AN_ANSWER > world.deadline.remaining(Instant::now()) {
            return Ok(Answered::Later(Some(after)));
        }
        tokio::time::sleep(after).await;
    }
}

async fn send(
    path: &str,
    pending: &Pending,
    proof: &Proof,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Answered, GrantError> {
    let mut request = authority.request("POST", path);
    request = request.header(header::CONTENT_TYPE, "application/pkcs10").header("content-transfer-encoding", "base64");
    if let Some(value) = &proof.authorization {
        request = request.header(header::AUTHORIZATION, value);
    }
    let request = request.body(pending.prepared.request.base64().into_bytes());
    let answer = authority.send(request, proof.client.clone()).await?;
    let answer = authority.judge(answer, "the certification request")?;
    if answer.status.as_u16() == 202 {
        return Ok(Answered::Later(answer.retry_after(world.now)));
    }
    Ok(Answered::Signed(bundle(authority, &answer)?, authority.clock_ahead(&answer)))
}

/// Reads certificates whatever the media type says: servers differ in it, and in their encoding (RFC 8951 §3).
fn bundle(authority: &Authority<'_>, answer: &Answer) -> Result<Bundle, GrantError> {
    if is_page(answer) {
        return Err(authority.malformed("an HTML page where certificates were expected; perhaps a proxy or a portal"));
    }
    Bundle::read(&answer.body).map_err(|error| match error {
        AssembleError::Unreadable => authority.malformed("neither PKCS #7 nor certificates"),
        other => authority.malformed(&other.to_string()),
    })
}

/// Completes the path of a certificate that came alone (RFC 7030 §4.1). Nothing is trusted for it: each link is proved later.
async fn completed(bundle: Bundle, authority: &Authority<'_>) -> Bundle {
    if !bundle.is_single() {
        return bundle;
    }
    let request = authority.request("GET", "/cacerts").body(Vec::new());
    let answer = authority.send(request, None).await.and_then(|answer| authority.judge(answer, "its certificates"));
    match answer.and_then(|answer| self::bundle(authority, &answer)) {
        Ok(above) => bundle.with(above),
        Err(_) => bundle,
    }
}

fn assemble(
    prepared: &Prepared,
    bundle: Bundle,
    clock_ahead: Option<i64>,
    authority: &Authority<'_>,
    now: Timestamp,
) -> Result<Grant, GrantError> {
    let clock = clock_note(clock_ahead, &authority.who);
    let assembled = prepared.assemble(bundle, now);
    let (identity, differences) = assembled.map_err(|error| GrantError::Certificate { error, clock: clock.clone() })?;
    let notes = differences.iter().map(ToString::to_string).chain(clock).collect();
    Ok(Grant { credential: Granted::Identity(identity), notes, lease: None })
}

/// The least time between two requests, whatever the server says.
const SHORTEST: Duration = Duration::from_secs(1);
/// What an answer needs, after a wait.
const TIME_FOR_AN_ANSWER: Duration = Duration::from_secs(2);
/// When to come back where the server did not say.
const UNSAID: Duration = Duration::from_secs(10);
