//! How the agent is started by a helper: alone, in a private place, with nothing of its starter's in its hands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use credmint_stories::{Company, User, file_identity, terraform};
use credmint_test_kit::processes::{open_files, session};

fn mode(path: &Path) -> Option<u32> {
    fs::symlink_metadata(path).ok().map(|data| data.permissions().mode() & 0o777)
}

#[test]
fn the_agent_takes_nothing_along_from_the_run_that_started_it() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));

    // 1. Started below a terraform whose environment has secrets for others.
    user.secret_variable("TF_TOKEN_other_example", "somebody else's token", "token-of-somebody-else");
    user.secret_variable("AWS_SECRET_ACCESS_KEY", "somebody else's key", "key-of-somebody-else");
    terraform.init(&user.home, &user.work).success();
    let agent = user.home.agent();
    // 2. A session of its own; no directory, terminal, pipe or file of the run is held.
    assert_eq!(session(agent.pid), Some(agent.pid));
    assert_eq!(fs::read_link(format!("/proc/{}/cwd", agent.pid)).ok().as_deref(), Some(Path::new("/")));
    for (number, target) in open_files(agent.pid) {
        assert!(number > 2 || target == "/dev/null", "{number} is {target}");
        let is_the_runs = ["pipe:", "tty", "/pts/", "/work"].iter().any(|part| target.contains(part));
        assert!(!is_the_runs, "{number} is {target}");
    }
    // 3. Of the environment it has what it needs to find its way.
    let names = agent.environment.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    for name in names.map(|entry| String::from_utf8_lossy(entry).split('=').next().unwrap_or_default().to_owned()) {
        let is_needed = ["HOME", "PATH", "TMPDIR"].contains(&name.as_str());
        assert!(is_needed || name.starts_with("XDG_") || name.starts_with("CREDMINT_"), "{name}");
    }
    // 4. The socket is in a directory that nobody else may enter.
    let socket = user.home.sockets().remove(0);
    assert_eq!((mode(&socket), socket.parent().and_then(mode)), (Some(0o600), Some(0o700)));
    // 5. It says how it hardened itself.
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("core dump"), "{status}");
    user.canary.check(&user.home);
}
