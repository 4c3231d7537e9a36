//! The life of the process: harden, listen, serve, end.
//! Options come in, an exit status goes out.
//! Everything secret is wiped when the memory of [`Agent`] is dropped here.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use credmint_local_machine::{RunDirectory, clock, hardening, process, report, socket_path};
use credmint_vocabulary::{Failure, FailureKind};
use tokio::io::{join, stdin, stdout};
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::agent::Agent;
use crate::listener::Listener;
use crate::options::Options;
use crate::renewal::HandedOut;
use crate::{metrics, renewal, server};

/// Runs until the work is done, somebody says stop, or nobody needs it any more.
pub(crate) fn run(options: Options) -> ExitCode {
    report::quiet_panics(PROGRAM);
    let hardening = hardening::harden();
    // The one TLS provider of the house; a second call would be a fault of ours, and is harmless.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = LocalSet::new().block_on(&runtime, live(options, hardening));
            // A thread that waits for a silent standard input would wait for ever.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(Failure::new(FailureKind::Internal, format!("no runtime: {error}"))),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report::failure(PROGRAM, None, &failure),
    }
}

async fn live(options: Options, hardening: Vec<String>) -> Result<(), Failure> {
    if options.once { once(hardening).await } else { stay(&options, hardening).await }
}

/// Serves one request on standard input and output; nothing is kept.
async fn once(hardening: Vec<String>) -> Result<(), Failure> {
    #[cfg(unix)]
    credmint_local_machine::leave_working_directory().map_err(|error| unable(&error))?;
    let agent = Agent::new(true, hardening);
    let mut stdio = join(stdin(), stdout());
    let served = server::serve(&agent, &mut stdio, process::parent()).await;
    renewal::drop_everything(&agent, HandedOut::LeftAlone).await;
    served.map_err(|error| Failure::new(FailureKind::Usage, format!("standard input: {error}")))
}

/// Serves the private socket until there is nothing to keep.
async fn stay(options: &Options, hardening: Vec<String>) -> Result<(), Failure> {
    let path = match &options.socket {
        Some(path) => path.clone(),
        None => socket_path().map_err(|error| unable(&error).hint(error.hint()))?,
    };
    #[cfg(unix)]
    if !options.foreground {
        credmint_local_machine::detach().map_err(|error| unable(&error))?;
    }
    let Some(listener) = Listener::on(&path).map_err(|error| unable(&error))? else { return Ok(()) };
    RunDirectory::sweep();
    let agent = Agent::new(false, hardening);
    let renewals = tokio::task::spawn_local(renewal::run(Rc::clone(&agent)));
    let numbers = tokio::task::spawn_local(metrics::run(Rc::clone(&agent)));
    let handed_out = tokio::select! {
        () = accept(&agent, &listener) => HandedOut::Revoked,
        () = agent.stop.notified() => HandedOut::Revoked,
        () = told_to_end() => HandedOut::Revoked,
        () = idle(&agent) => HandedOut::LeftAlone,
    };
    numbers.abort();
    agent.metrics.withdraw();
    if let Some(bridge) = &agent.bridge {
        bridge.withdraw().await;
    }
    listener.withdraw(&path);
    renewals.abort();
    renewal::drop_everything(&agent, handed_out).await;
    Ok(())
}

fn unable(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Settings, error.to_string()).hint("credmint status")
}

async fn accept(agent: &Rc<Agent>, listener: &Listener) {
    loop {
        match listener.accept().await {
            Ok((mut stream, caller)) => {
                let agent = Rc::clone(agent);
                // An error means that the caller went away: there is nobody to tell.
                tokio::task::spawn_local(async move { server::serve(&agent, &mut stream, caller).await.is_ok() });
            }
            // Somebody else's process, or out of file descriptors: others still come.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Waits for SIGTERM, SIGINT or SIGHUP.
#[cfg(unix)]
async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Waits for Ctrl-C, Ctrl-Break, a closed console or the end of the system; without a console none of them comes.
#[cfg(windows)]
async fn told_to_end() {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
    let (Ok(mut interrupt), Ok(mut pause), Ok(mut close), Ok(mut shutdown)) =
        (ctrl_c(), ctrl_break(), ctrl_close(), ctrl_shutdown())
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = pause.recv() => {}
        _ = close.recv() => {}
        _ = shutdown.recv() => {}
    }
}

/// Waits until nothing has been in use for as long as the settings say, or until nothing is and the executable is another one. The wall clock counts sleep of the machine, too.
async fn idle(agent: &Agent) {
    let makes_way = || agent.program.is_replaced() && agent.can_be_replaced(clock::now(), 0);
    while !(agent.is_idle(clock::now()) || makes_way()) {
        sleep(BETWEEN_LOOKS).await;
    }
}

/// How often the agent looks whether it is still needed.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// What the process is called in what it reports.
pub(crate) const PROGRAM: &str = "credmint-agent";
