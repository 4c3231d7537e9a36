//! `kind = "step-ca"`: a certificate from smallstep's CA, for a key that we make.
//! Templates and the subject token come in, or the present certificate; a client identity that was checked goes out.
//! Sends the token to `/1.0/sign` alone. <https://smallstep.com/docs/step-ca/>; the shapes are those of its `api/sign.go`.

use std::sync::Arc;

use credmint_client_identity::{Asked, Bundle, ClientIdentity, PrivateKey};
use credmint_https::Answer;
use credmint_identities::SubjectToken;
use credmint_settings::StepCa;
use http::header;
use serde::{Deserialize, Serialize};

use crate::authority::{Authority, may_be_asked_anew};
use crate::error::GrantError;
use crate::grant::{Grant, Granted, World, needed, refuse_expired};
use crate::prepared::{Prepared, clock_note};
use crate::wiped::to_json;

/// Is the body of `/1.0/sign`.
#[derive(Serialize)]
struct Sign<'a> {
    csr: &'a str,
    ott: &'a str,
    #[serde(rename = "notAfter", skip_serializing_if = "Option::is_none")]
    not_after: Option<String>,
}

/// Is the answer of `/1.0/sign` and of `/1.0/renew`.
#[derive(Deserialize)]
struct Signed {
    #[serde(default)]
    crt: String,
    #[serde(default)]
    ca: String,
    #[serde(default, rename = "certChain")]
    chain: Option<Vec<String>>,
}

/// Renews by the present certificate where there is one, and has a new key signed where there is none or that is refused.
pub(crate) async fn grant(
    settings: &StepCa,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let authority = Authority::at(&settings.address, &settings.peer, world)?;
    let refused = match world.before.present {
        None => None,
        Some(present) => match renew(settings, present, &authority, world).await {
            Err(error) if may_be_asked_anew(&error) => {
                Some(format!("signed anew, because the renewal failed: {error}"))
            }
            done => return done,
        },
    };
    refuse_expired(subject, world.now)?;
    let mut grant = sign(settings, needed(subject)?, &authority, world).await.map_err(counted_once)?;
    grant.notes.extend(refused);
    Ok(grant)
}

/// Has a fresh key signed.
async fn sign(
    settings: &StepCa,
    subject: &SubjectToken,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let mut prepared = Prepared::new(&settings.wanted, Some(subject)).await?;
    prepared.asked.ttl = settings.ttl;
    let not_after = settings.ttl.map(|ttl| format!("{}s", ttl.as_secs()));
    let body = Sign { csr: prepared.request.pem(), ott: subject.token.expose(), not_after };
    let mut body = to_json(&body);
    let request = authority.request("POST", "/1.0/sign").header(header::CONTENT_TYPE, "application/json");
    let answer = authority.send(request.body(std::mem::take(&mut *body)), None).await?;
    let answer = authority.judge(answer, "the certification request")?;
    assembled(prepared.key, &prepared.asked, &answer, authority, world)
}

/// Has the present certificate issued again, for the same key and with the same names.
async fn renew(
    settings: &StepCa,
    present: &Arc<ClientIdentity>,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let request = authority.request("POST", "/1.0/renew").body(Vec::new());
    let answer = authority.send(request, Some(Arc::clone(present))).await?;
    let answer = authority.judge(answer, "the renewal")?;
    let asked = Asked { names: present.names(), ttl: settings.ttl };
    assembled(present.key_copied(), &asked, &answer, authority, world)
}

fn assembled(
    key: PrivateKey,
    asked: &Asked,
    answer: &Answer,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let signed: Signed =
        serde_json::from_slice(&answer.body).map_err(|_| authority.malformed("no JSON with `crt` in it"))?;
    let all = [vec![signed.crt, signed.ca], signed.chain.unwrap_or_default()].concat();
    let bundle = Bundle::read(all.join("\n").as_bytes()).map_err(|error| authority.malformed(&error.to_string()))?;
    let clock = clock_note(authority.clock_ahead(answer), &authority.who);
    let assembled = ClientIdentity::assemble_bundle(key, bundle, asked, world.now);
    let (identity, differences) = assembled.map_err(|error| GrantError::Certificate { error, clock: clock.clone() })?;
    let notes = differences.iter().map(ToString::to_string).chain(clock).collect();
    Ok(Grant { credential: Granted::Identity(identity), notes, lease: None })
}

/// Says of a refused token what is peculiar to this CA: it takes each token once.
fn counted_once(error: GrantError) -> GrantError {
    match error {
        GrantError::Denied { who, what, status: status @ 401, reason, .. } => GrantError::Denied {
            who,
            what,
            status,
            reason,
            hint: "step-ca takes each token once: get a new one (a person signs in again), and see that the provisioner knows its issuer",
        },
        other => other,
    }
}
