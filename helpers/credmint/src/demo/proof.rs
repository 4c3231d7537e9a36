//! The last proof: no secret of this run is in a file of the home, in an argument or in an environment.
//! The stage and what was minted come in; what was searched, for what, and what was found is said.
//! Fails if something was found. What could not be read is said as well.

use credmint_vocabulary::Failure;

use super::needles::{self, Needle};
use super::search::Search;
use super::session;
use super::stage::Stage;
use super::steps::{Minted, hold};

/// Searches, and says exactly what was searched.
pub(crate) fn nothing_was_written(stage: &mut Stage, minted: &Minted) -> Result<(), Failure> {
    stage.heading("Nothing was written");
    let needles = needles(stage, minted)?;
    let mut search = Search::default();
    search.directory(stage.home.path(), &needles);
    search.process("this demo", std::process::id(), &needles);
    search.process("credmint-agent", minted.agent, &needles);
    search.found.extend(minted.watched.found.iter().map(|name| format!("{name} in an argument during init")));
    say(stage, &search, minted, &needles);
    hold(search.found.is_empty() && search.files > 0, "no secret was found")
}

fn needles(stage: &Stage, minted: &Minted) -> Result<Vec<Needle>, Failure> {
    let session = session::ask_helper(&stage.home, &stage.token)?;
    let mut needles = needles::of_any_key();
    needles.extend(needles::of_public_key(&minted.certificate.public_key));
    needles.push(needles::of_token("session token of the bridge", &session));
    needles.push(needles::of_token("subject token of the workload", &stage.token));
    Ok(needles)
}

fn say(stage: &Stage, search: &Search, minted: &Minted, needles: &[Needle]) {
    let mut names: Vec<&str> = needles.iter().map(|needle| needle.name).collect();
    names.dedup();
    stage.say(names.iter().map(|name| format!("looked for    {name}")));
    stage.say([format!("in            {} files of the home, {} bytes", search.files, search.bytes)]);
    stage.say(search.of_processes.iter().map(|what| format!("in            {what}")));
    stage.say([during_init(minted)]);
    stage.say(["left out      WORKLOAD_TOKEN in the environment of the client: there the settings let it be read"]);
    stage.say(search.programs.iter().map(|what| format!("left out      {what}: a copy of our own program")));
    stage.say(search.unread.iter().map(|what| format!("not readable  {what}")));
    stage.say(search.found.iter().map(|what| format!("FOUND         {what}")));
    if search.found.is_empty() {
        stage.say(["found         nothing"]);
    }
}

fn during_init(minted: &Minted) -> String {
    match minted.watched.processes {
        0 => "not watched   arguments of other processes during init: this system has no /proc".to_owned(),
        count => format!("in            arguments of {count} processes that ran during init"),
    }
}
