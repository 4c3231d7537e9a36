//! The sign-in that a browser began by Terraform's address: the same as `credmint login`, with the agent as its client.
//! A run comes in; the issuer's address goes out, or what came of it without one.
//! Ends by its deadline, or when the person begins another one; what nobody claimed is revoked.

use std::rc::Rc;

use credmint_agent_protocol::{Login, Need, Reply};
use credmint_vocabulary::{Failure, FailureKind};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::oneshot;

use super::run::Run;
use crate::agent::Agent;
use crate::connection::{receive, send};
use crate::server::Ended;
use crate::sessions::Session;
use crate::{late_renewal, login};

/// What the browser is to do.
pub(super) enum Step {
    /// It goes to the issuer.
    Visit(String),
    /// There is no need to: somebody else just signed in, or it did not work.
    Done(Result<Rc<Session>, Failure>),
}

/// Begins a sign-in and gives its first step; it goes on by itself.
pub(super) async fn begin(agent: &Rc<Agent>, run: &Rc<Run>, login: Login) -> Step {
    let (sender, first) = oneshot::channel();
    tokio::task::spawn_local(go(Rc::clone(agent), Rc::clone(run), login, sender));
    first.await.unwrap_or_else(|_| Step::Done(Err(given_up(run))))
}

async fn go(agent: Rc<Agent>, run: Rc<Run>, login: Login, first: oneshot::Sender<Step>) {
    let _busy = Rc::clone(&agent.busy);
    let (mut ours, theirs) = duplex(64 * 1024);
    let signing_in = async {
        let signed_in = login::sign_in(&agent, &mut ours, &login, Some(&run)).await;
        // Who listens at the other end hears that it is over.
        drop(ours);
        signed_in
    };
    tokio::select! {
        (signed_in, first) = async { tokio::join!(signing_in, listen(theirs, first)) } => {
            // A browser that does not wait any more misses nothing.
            first.map(|first| first.send(Step::Done(said(signed_in, &run))));
        }
        () = run.over.notified() => {}
    }
    let unclaimed = run.pending.take();
    if let Some(session) = unclaimed {
        let _under_way = Rc::clone(&agent.revoking);
        agent.terraform_login.codes.end(&run);
        late_renewal::drop_late(&agent, &session).await;
    }
}

/// Does what the client of a sign-in does; gives back the right to tell the first step if it was not used.
async fn listen(mut agent: DuplexStream, first: oneshot::Sender<Step>) -> Option<oneshot::Sender<Step>> {
    let mut first = Some(first);
    while let Ok(reply) = receive::<Reply>(&mut agent).await {
        match reply {
            // The browser has no environment that we could read, and the agent's own is not the person's.
            Reply::Need(Need { files, .. }) => {
                let supply = credmint_local_machine::supply(&Need { files, ..Need::default() });
                if send(&mut agent, &supply).await.is_err() {
                    break;
                }
            }
            Reply::Visit(visit) => drop(first.take().map(|first| first.send(Step::Visit(visit.url)))),
            _ => {}
        }
    }
    first
}

fn said(signed_in: Result<Rc<Session>, Ended>, run: &Run) -> Result<Rc<Session>, Failure> {
    signed_in.map_err(|ended| match ended {
        Ended::Failed(failure) => failure,
        Ended::Gone(_) => given_up(run),
    })
}

fn given_up(run: &Run) -> Failure {
    let what = format!("the sign-in for {} was given up: another one began", run.hostname);
    Failure::new(FailureKind::Refused, what).hint(format!("terraform login {}", run.hostname))
}
