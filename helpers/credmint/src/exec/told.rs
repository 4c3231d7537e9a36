//! The runs that are open, as `credmint status` shows them.
//! What the agent says of a run comes in, lines go out.
//! Never a token: the agent does not say them.

use credmint_agent_protocol::RunStatus;
use credmint_vocabulary::printable;

use crate::out::folded;

/// Writes one run.
pub(crate) fn status(run: &RunStatus) -> Vec<String> {
    let shown = |text: &str| printable(text, 300);
    let program = if run.program.is_empty() { "a program".to_owned() } else { shown(&run.program) };
    let by = run.process.map(|process| format!(", by process {process}")).unwrap_or_default();
    let requests = if run.requests == 1 { "1 request".to_owned() } else { format!("{} requests", run.requests) };
    let head = format!("{program}{by}, since {}, {requests}", shown(&run.since));
    let hosts = format!("at port {}, for {}", run.port, shown(&run.hosts.join(", ")));
    folded("run        ", 11, &head).into_iter().chain(folded("           ", 11, &hosts)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run for the golden files.
    pub(crate) fn run() -> RunStatus {
        RunStatus {
            program: "terraform".into(),
            process: Some(4_711),
            since: "2026-11-30T15:58:00Z".into(),
            hosts: vec!["registry.corp.example".into(), "state.corp.example".into()],
            port: 41_235,
            requests: 12,
        }
    }

    #[test]
    fn what_a_program_is_called_cannot_move_the_cursor() {
        let lines = status(&RunStatus { program: "a\x1b[2Jb".into(), process: None, requests: 1, ..run() });
        assert!(lines[0].starts_with("run        a [2Jb, since ") && lines[0].ends_with(", 1 request"), "{lines:?}");
    }
}
