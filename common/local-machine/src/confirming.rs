//! The caller's side of a confirmation: the agent wants a person asked, and this process has the terminal.
//! The agent's question comes in, what the person said goes back, and the conversation goes on.
//! Asks at the controlling terminal alone, and takes silence for a no. `protocol-spec/agent-protocol.md`, section 15.

use std::time::{Duration, Instant};

use credmint_agent_protocol::{Answer, AskError, Confirm, Confirmed, Reply, receive, say};
use credmint_vocabulary::Deadline;
use serde::de::DeserializeOwned;

use crate::question::{self, Said};
use crate::socket::Connection;
use crate::terminal;

/// Asks whatever the agent wants asked, and gives its last reply; `program` is who says so.
pub(crate) fn attend<R: DeserializeOwned + Into<Reply>>(
    connection: &mut Connection,
    program: &str,
    first: Reply,
) -> Result<Answer, AskError> {
    let mut reply = first;
    loop {
        let confirmed = match &reply {
            Reply::Waiting => {
                connection.wait_until(after(LONGEST + LONGEST + PATIENCE));
                None
            }
            Reply::Confirm(asked) => ask(connection, program, asked),
            _ => return Ok(reply),
        };
        if let Some(confirmed) = confirmed {
            // An agent that does not want to know any more may have said why.
            let _ = say(connection, &confirmed);
        }
        reply = receive::<R>(connection)?.into();
    }
}

/// Asks, or waits for who asks elsewhere; afterwards the agent has as long as for any other request.
fn ask(connection: &mut Connection, program: &str, asked: &Confirm) -> Option<Confirmed> {
    let time = Duration::from_secs(asked.expires_in_seconds).min(LONGEST);
    if asked.elsewhere {
        connection.wait_until(after(time + PATIENCE));
        terminal::say(&format!("{program}: waiting for an answer in another window: {}", asked.what));
        return None;
    }
    let what = credmint_vocabulary::printable(&asked.what, 1000);
    let said = question::yes_or_no(&format!("{program}: {what} [y/N] "), after(time));
    connection.wait_until(after(PATIENCE));
    Some(said.map_or_else(|error| Confirmed::Unable { why: why(&error) }, confirmed))
}

fn confirmed(said: Said) -> Confirmed {
    match said {
        Said::Yes => Confirmed::Yes,
        Said::No => Confirmed::No,
        Said::Nothing => Confirmed::Nothing,
    }
}

fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::WouldBlock => "it runs in the background of its terminal",
        _ => "there is no terminal to ask at",
    }
    .to_owned()
}

fn after(time: Duration) -> Deadline {
    Deadline::after(Instant::now(), time)
}

/// How long a person may take at most.
const LONGEST: Duration = Duration::from_secs(60);
/// How long the agent may take when the person has answered.
const PATIENCE: Duration = Duration::from_secs(10);
