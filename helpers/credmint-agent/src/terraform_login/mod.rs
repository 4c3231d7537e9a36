//! `terraform login` by our own sign-in: an authorization and a token endpoint on the bridge, and Terraform's `store`.
//! What Terraform's browser and Terraform ask over loopback comes in; pages, one-use codes and markers go out.
//! Nothing that opens anything travels here: a sign-in is kept when its marker comes back over the agent's own socket.
//! `protocol-spec/bridge-protocol.md` §8.

mod attempt;
mod authorize;
mod codes;
mod request;
mod run;
mod store;
mod token;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_agent_protocol::Got;
use credmint_vocabulary::Hostname;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::agent::Agent;
use crate::bridge::Ends;
use crate::login::Page;
use crate::sessions::SessionKey;
use codes::Codes;
pub(crate) use run::Run;
pub(crate) use store::store;

/// One of the two endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Where the browser goes.
    Authorize,
    /// Where Terraform redeems its code.
    Token,
}

/// Finds the endpoint and the host that a path names: `/<hostname>/.login/authorize`, `/<hostname>/.login/token`.
pub(crate) fn endpoint(uri: &Uri) -> Option<(Hostname, Endpoint)> {
    let (host, rest) = uri.path().strip_prefix('/')?.split_once('/')?;
    let endpoint = match rest {
        ".login/authorize" => Endpoint::Authorize,
        ".login/token" => Endpoint::Token,
        _ => return None,
    };
    Some((Hostname::from_comparison_form(host).ok()?, endpoint))
}

/// Answers at an endpoint.
pub(crate) async fn answer(
    agent: &Rc<Agent>,
    port: u16,
    (hostname, endpoint): (Hostname, Endpoint),
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    if let Err(locked) = agent.lock.check() {
        return Page::Refused(locked).response();
    }
    match endpoint {
        Endpoint::Authorize => authorize::answer(agent, port, hostname, &request).await,
        Endpoint::Token => token::answer(agent, port, &hostname, request).await,
    }
}

/// Tells whether another user of the machine asks, as far as the kernel says.
fn is_a_strangers(request: &Request<Incoming>) -> bool {
    let ends = request.extensions().get::<Ends>();
    ends.is_some_and(|Ends((near, far))| credmint_local_machine::is_another_users(*near, *far))
}

/// Holds the runs of `terraform login` of the last minutes, and what is needed to answer the next.
#[derive(Default)]
pub(crate) struct TerraformLogin {
    codes: Codes,
    runs: RefCell<Vec<Rc<Run>>>,
    places: RefCell<Vec<Place>>,
}

/// Where settings are: the file that a caller's environment names, and its usual place.
type Place = (Option<String>, Option<String>);

impl TerraformLogin {
    /// Notes where the settings of somebody are who uses the bridge: a browser does not say.
    pub(crate) fn note(&self, got: &Got) {
        if !got.args.is_empty() {
            return;
        }
        let place = (got.settings.clone(), got.usual_settings.clone());
        let mut places = self.places.borrow_mut();
        places.retain(|known| *known != place);
        if places.len() >= MOST_PLACES {
            places.remove(0);
        }
        places.push(place);
    }

    /// Ends the runs that would sign in for an identity: the person does so in another way, or again.
    pub(crate) fn give_way(&self, key: SessionKey) {
        let runs = self.runs.borrow();
        for run in runs.iter().filter(|run| run.key == key && run.kept.get().is_none()) {
            self.codes.end(run);
            run.over.notify_one();
        }
    }

    /// Ends all runs: nobody signs in while the agent is locked.
    pub(crate) fn end_all(&self) {
        for run in self.runs.take() {
            self.codes.end(&run);
            run.over.notify_one();
        }
    }

    /// Adds a run; those of before are forgotten after a while.
    fn begin(&self, run: &Rc<Run>) {
        let mut runs = self.runs.borrow_mut();
        runs.retain(|run| run.began.elapsed() < REMEMBERED);
        if runs.len() >= MOST_RUNS {
            runs.remove(0);
        }
        runs.push(Rc::clone(run));
    }

    /// Finds the run that a challenge began.
    fn run_of(&self, challenge: &str) -> Option<Rc<Run>> {
        self.runs.borrow().iter().find(|run| run.asked.challenge == challenge).cloned()
    }

    fn claim(
        &self,
        host: &Hostname,
        marker: &credmint_vocabulary::Secret<String>,
    ) -> Option<(Rc<Run>, codes::Outcome)> {
        self.codes.claim(host, marker, Instant::now())
    }
}

const MOST_PLACES: usize = 16;
const MOST_RUNS: usize = 64;
/// How long it is known that an address was opened.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_whole_path() {
        let of = |path: &str| endpoint(&path.parse().expect("a URI")).map(|(host, end)| (host.to_string(), end));
        let host = || "registry.corp.example:8443".to_owned();
        assert_eq!(of("/registry.corp.example:8443/.login/authorize?x"), Some((host(), Endpoint::Authorize)));
        assert_eq!(of("/registry.corp.example:8443/.login/token"), Some((host(), Endpoint::Token)));
        for path in ["/.login/token", "/a.example/.login/", "/a.example/.login/token/", "/a.example/v1/.login/token"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
