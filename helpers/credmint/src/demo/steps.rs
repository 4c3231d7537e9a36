//! The steps of the demo, in their order: each does one thing, says what it saw, and fails if it is not so.
//! The stage comes in, text for people goes out.
//! Decides nothing about the home or the registry: `stage` and `registry` do.

use credmint_agent_protocol::Status;
use credmint_vocabulary::{Failure, FailureKind};

use super::client_certificate::ClientCertificate;
use super::registry::Seen;
use super::stage::Stage;
use super::watch::{Seen as Watched, Watch};
use super::{HOST, module, needles, session, stranger};
use crate::life;

/// What the first `init` minted, and what was watched meanwhile.
pub(crate) struct Minted {
    /// As the registry saw it.
    pub(crate) certificate: ClientCertificate,
    /// The agent's process.
    pub(crate) agent: u32,
    /// Arguments of all processes during `init`.
    pub(crate) watched: Watched,
}

/// Says what the registry is.
pub(crate) fn registry(stage: &mut Stage) -> Result<(), Failure> {
    stage.heading("A registry that demands a client certificate");
    stage.home.write("registry-ca.pem", &stage.anchor_pem)?;
    stage.say([
        format!("https://127.0.0.1:{}, certificate for {HOST} by an authority of its own", stage.registry_port),
        "in this process; keys in memory only; its anchor in ~/registry-ca.pem".to_owned(),
    ]);
    Ok(())
}

/// Writes settings.
pub(crate) fn settings(stage: &mut Stage) -> Result<(), Failure> {
    stage.heading("Settings: who asks, who grants, for which host (~/.config/credmint/config.toml)");
    let ca = toml::Value::from(stage.home.join("registry-ca.pem").display().to_string());
    let text = format!(
        "[bridge]\nport = {}\n\n[agent]\nidle_exit = \"5m\"\n\n\
         [identity.job]\nkind = \"env\"\nvariable = \"WORKLOAD_TOKEN\"\n\n\
         [issuer.demo-ca]\nkind = \"local-ca\"\ncommon_name = \"{{email}}\"\nttl = \"1h\"\n\n\
         [host.\"{HOST}\"]\nidentity = [\"job\"]\nissuer = \"demo-ca\"\nupstream = \"{}\"\nca = {ca}\n",
        stage.bridge_port,
        upstream(stage),
    );
    stage.home.write(".config/credmint/config.toml", &text)?;
    stage.home.write("work/main.tf", module::CONFIGURATION)?;
    stage.say(text.lines());
    Ok(())
}

/// Runs `credmint setup`, twice.
pub(crate) fn setup(stage: &mut Stage) -> Result<(), Failure> {
    let (upstream, tool) = (upstream(stage), stage.client.tool().program());
    stage.heading(&format!("$ credmint setup {HOST} --upstream {upstream}"));
    let arguments = ["setup", HOST, "--upstream", &upstream, "--tool", tool, "--yes"];
    let text = stage.credmint(&arguments)?;
    stage.say(text.lines().take_while(|line| !line.is_empty()));
    let again = stage.credmint(&arguments)?;
    hold(again.starts_with("Nothing to change."), "a second setup changes nothing")?;
    let asked = stage.registry.take();
    hold(asked.iter().all(|seen| seen.line == DISCOVERY), "setup asks which services there are, and nothing else")?;
    stage.say(["Which services there are it asked the registry, over mTLS. A second run: nothing to change."]);
    Ok(())
}

/// Starts the agent by asking for its anchor, and lets the registry trust it.
pub(crate) fn agent(stage: &mut Stage) -> Result<(), Failure> {
    stage.heading(&format!("$ credmint agent anchor {HOST}"));
    let anchor = stage.credmint(&["agent", "anchor", HOST])?;
    let status = status(stage)?;
    let (listener, identity) = stage.closed.take().ok_or_else(|| broken("the registry is closed"))?;
    stage.registry.open(listener, identity.demanding(&anchor)?)?;
    let refusal = stranger::is_refused(stage.registry_port, &stage.anchor_pem)?;
    hold(stage.registry.take().is_empty(), "the registry answers nobody without a certificate")?;
    stage.say([
        format!("The agent started (process {}) and made an authority in its memory.", status.pid),
        "The registry trusts that authority, and nobody else.".to_owned(),
        format!("A client without a certificate: {refusal}."),
    ]);
    Ok(())
}

/// Shows what would happen.
pub(crate) fn explain(stage: &mut Stage) -> Result<(), Failure> {
    stage.heading(&format!("$ credmint explain {HOST}"));
    let text = stage.credmint(&["explain", HOST])?;
    stage.say(text.lines());
    Ok(())
}

/// Runs `init`, and shows what was minted and what travelled.
pub(crate) fn first_init(stage: &mut Stage) -> Result<Minted, Failure> {
    let watch = watch(stage, Vec::new());
    let requests = init(stage, "")?;
    let watched = watch.end();
    let certificate = one_client(&requests)?;
    stage.heading("What was minted, as the registry saw it");
    let life = u64::try_from(certificate.not_after.unix() - certificate.not_before.unix()).unwrap_or(0);
    stage.say([
        format!("subject  {}", certificate.subject),
        format!("serial   {}", certificate.serial),
        format!("life     {}, until {}", life::words(life), certificate.not_after),
    ]);
    stage.heading("What travelled over mTLS");
    travelled(stage, &requests, &certificate);
    let agent = status(stage)?.pid;
    Ok(Minted { certificate, agent, watched })
}

/// Runs `init` once more in an empty working directory: the same certificate, nothing minted.
pub(crate) fn second_init(stage: &mut Stage, minted: &Minted) -> Result<(), Failure> {
    stage.home.forget_work();
    let session = session::ask_helper(&stage.home, &stage.token)?;
    let watch = watch(stage, vec![needles::of_token("session token", &session)]);
    let requests = init(stage, ", again from nothing")?;
    let watched = watch.end();
    hold(watched.found.is_empty(), "no argument held a secret during the second init")?;
    hold(one_client(&requests)? == minted.certificate, "the second init used the same certificate")?;
    let status = status(stage)?;
    hold(status.entries.len() == 1 && status.pid == minted.agent, "the same agent kept one entry")?;
    stage.say([format!(
        "{} requests, the same certificate {}: nothing was minted.",
        requests.len(),
        minted.certificate.serial
    )]);
    Ok(())
}

/// Stops the agent.
pub(crate) fn stop(stage: &mut Stage) -> Result<(), Failure> {
    stage.heading("$ credmint agent stop");
    let text = stage.credmint(&["agent", "stop"])?;
    stage.say(text.lines());
    Ok(())
}

/// Fails if something that was promised is not so.
pub(crate) fn hold(is_so: bool, promise: &str) -> Result<(), Failure> {
    if is_so { Ok(()) } else { Err(broken(&format!("this did not hold: {promise}"))) }
}

fn init(stage: &mut Stage, how: &str) -> Result<Vec<Seen>, Failure> {
    let typed = stage.client.typed();
    stage.heading(&format!("$ {typed}{how}"));
    let lines = stage.client.init(&stage.home, &stage.token, stage.bridge_port)?;
    stage.say(lines);
    Ok(stage.registry.take())
}

fn watch(stage: &Stage, more: Vec<needles::Needle>) -> Watch {
    let mut needles = needles::of_any_key();
    needles.push(needles::of_token("subject token", &stage.token));
    needles.extend(more);
    Watch::begin(needles)
}

fn travelled(stage: &Stage, requests: &[Seen], certificate: &ClientCertificate) {
    stage.say(requests.iter().map(|seen| format!("{}  {}", seen.status, seen.line)));
    stage.say([format!("each with the certificate {}", certificate.serial)]);
}

/// Gives the one client that all requests came from.
fn one_client(requests: &[Seen]) -> Result<ClientCertificate, Failure> {
    let first = requests.first().ok_or_else(|| broken("no request reached the registry"))?;
    hold(requests.iter().all(|seen| seen.client == first.client), "all requests came with one certificate")?;
    hold(requests.iter().all(|seen| seen.status < 300), "the registry had all that was asked for")?;
    Ok(first.client.clone())
}

fn status(stage: &Stage) -> Result<Status, Failure> {
    let text = stage.credmint(&["status", "--json"])?;
    let object: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let status = object.and_then(|object| serde_json::from_value(object.get("agent")?.clone()).ok());
    status.ok_or_else(|| broken("no agent is running"))
}

/// What setup asks.
const DISCOVERY: &str = "GET /.well-known/terraform.json";

fn upstream(stage: &Stage) -> String {
    format!("https://127.0.0.1:{}", stage.registry_port)
}

fn broken(what: &str) -> Failure {
    Failure::new(FailureKind::Internal, format!("the demo: {what}"))
        .hint("credmint demo --keep leaves the home for a look")
}
