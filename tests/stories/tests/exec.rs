//! `credmint exec`: the real terraform behind mutual TLS, from a home in which nothing was installed.

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::home::{executable, files_below};
use credmint_test_kit::processes::{self, Signal};
use credmint_test_kit::{Output, Run};

/// A user of the company who has settings, and neither a helper nor a CLI configuration.
fn user_of(company: &Company) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    user
}

fn exec<'home>(user: &'home User, words: &[&str]) -> Run<'home> {
    let run = user.home.run(executable("credmint")).args(["exec", "--"]).args(words.iter().copied());
    run.in_directory(&user.work).env("TF_IN_AUTOMATION", "1").deadline(std::time::Duration::from_secs(120))
}

/// Runs a line of the shell below `credmint exec`.
fn shell(user: &User, line: &str) -> Output {
    exec(user, &["/bin/sh", "-c", line]).output()
}

/// What a run leaves in the runtime directory besides the agent's socket.
fn left(user: &User) -> Vec<std::path::PathBuf> {
    let is_of_run = |path: &std::path::PathBuf| path.display().to_string().contains("/run-");
    files_below(&user.home.runtime_directory()).into_iter().filter(is_of_run).collect()
}

#[test]
fn init_needs_nothing_in_the_home_and_leaves_nothing_there() {
    let Some(_) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.home.unset("SSL_CERT_FILE");
    user = user_of(&company);

    // 1. `terraform init` through the bridge, without a helper, a `host` block or a plug-in directory.
    let init = exec(&user, &["terraform", "init", "-input=false", "-no-color"]).output().success();
    assert_eq!(init.stderr, "");
    let requests = company.registry.requests();
    assert!(requests.len() >= 9 && requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    assert!(requests.iter().all(|request| request.authorization.is_empty() && request.host == HOST));
    // 2. One certificate, also for the next run: the agent keeps it.
    exec(&user, &["terraform", "get", "-update"]).output().success();
    assert_eq!(company.pki.minted(), 1);
    // 3. Nothing of the runs is left, and nothing was written into the home but what terraform itself writes.
    assert_eq!(left(&user), Vec::<std::path::PathBuf>::new());
    assert!(!user.home.path().join(".terraformrc").exists() && !user.home.path().join(".terraform.d/plugins").exists());
    user.canary.check(&user.home);
}

#[test]
fn the_program_ends_as_it_would_without_us() {
    let company = Company::found();
    let user = user_of(&company);

    // 1. Exit statuses are passed on, with nothing said.
    let output = shell(&user, "exit 7");
    assert_eq!((output.code, output.stderr.as_str()), (Some(7), ""));
    // 2. A signal that ends it ends us: 128 + n for a shell.
    let output = shell(&user, "kill -TERM $$");
    assert_eq!((output.code, output.signal, output.stderr.as_str()), (None, Some(15), ""));
    let line = format!("{} exec -- /bin/sh -c 'kill -KILL $$'; echo $?", executable("credmint").display());
    let output = user.home.run("/bin/sh").args(["-c", &line]).output();
    assert_eq!(output.stdout, "137\n");
    // 3. What is not there is 127, what cannot be run is 126, and both are said.
    let missing = exec(&user, &["no-such-program"]).output();
    assert_eq!(missing.code, Some(127));
    assert!(missing.stderr.starts_with("credmint: no-such-program: there is no such program\n"), "{}", missing.stderr);
    let file = user.home.write("not-a-program", "");
    assert_eq!(exec(&user, &[&file.display().to_string()]).output().code, Some(126));
    // 4. Standard streams are its own.
    let output = exec(&user, &["/bin/sh", "-c", "cat; echo aside >&2"]).input("words").output();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("words", "aside\n"));
    user.canary.check(&user.home);
}

#[test]
fn signals_reach_the_program_and_sigkill_leaves_neither_file_nor_port() {
    let company = Company::found();
    let user = user_of(&company);
    let show = "echo \"$TF_CLI_CONFIG_FILE\"; grep -o '127.0.0.1:[0-9]*' \"$TF_CLI_CONFIG_FILE\"";

    // 1. What is sent to us reaches the program, which decides.
    let line = format!("trap 'echo heard; exit 3' TERM; {show}; echo ready; while :; do sleep 0.05; done");
    let mut running = exec(&user, &["/bin/sh", "-c", &line]).start();
    running.shows("that it waits", |text| text.contains("ready").then_some(()));
    processes::signal(running.pid(), Signal::TERM);
    let output = running.output();
    assert_eq!((output.code, output.stdout.matches("heard").count()), (Some(3), 1), "{}", output.stdout);
    // 2. While it runs, the CLI configuration is for its owner alone, and the port answers.
    let line = format!("{show}; echo ready; exec sleep 60");
    let mut running = exec(&user, &["/bin/sh", "-c", &line]).start();
    let (file, port) = running.shows("file and port", |text| {
        let mut lines = text.lines();
        let found = (lines.next()?.to_owned(), lines.next()?.rsplit(':').next()?.parse::<u16>().ok()?);
        text.contains("ready").then_some(found)
    });
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).expect("the file"));
    assert_eq!(mode & 0o777, 0o600);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    // 3. When we are killed, the agent removes the one and closes the other.
    processes::signal(running.pid(), Signal::KILL);
    let gone = || !std::path::Path::new(&file).exists() && std::net::TcpStream::connect(("127.0.0.1", port)).is_err();
    credmint_stories::wait_until("file and port are gone", gone);
    assert!(std::net::TcpStream::connect(("::1", port)).is_err());
    assert_eq!(left(&user), Vec::<std::path::PathBuf>::new());
    let sleeper = processes::of_directory(user.home.root()).into_iter().find(|process| process.name == "sleep");
    sleeper.iter().for_each(|process| processes::end(process.pid));
    user.canary.check(&user.home);
}
