//! `credmint exec`: the real terraform behind mutual TLS, from a home in which nothing was installed.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story looks at the file and the port of a run, and stops at what is not so"
)]

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::home::{executable, files_below};
use credmint_test_kit::http::Request;
use credmint_test_kit::processes::{self, Signal};
use credmint_test_kit::{Gate, Output, Registry, Run, States};

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
    let company = Company::found();
    let user = user_of(&company);

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
    assert_eq!(exec(&user, &["/"]).output().code, Some(126), "a directory");
    let nothing = user.home.run(executable("credmint")).args(["exec", "--"]).output();
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(64), ""));
    assert!(nothing.stderr.contains("hint: "), "{}", nothing.stderr);
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

/// A user of a company whose registry keeps states, too, and a directory with an `http` backend.
fn state_behind(company: &mut Company) -> (User, States, std::path::PathBuf) {
    let states = States::start();
    let gate = Gate::ClientCertificate(company.pki.path());
    company.registry = Registry::behind(gate).nginx(&states.location("/state/")).start();
    let mut user = user_of(company);
    let configuration = "terraform {\n  backend \"http\" {}\n}\n\noutput \"word\" {\n  value = \"kept\"\n}\n";
    let main = user.home.write("stateful/main.tf", configuration);
    user.home.set("TF_HTTP_ADDRESS", format!("https://{HOST}/state/prod"));
    user.home.set("TF_HTTP_LOCK_ADDRESS", format!("https://{HOST}/state/prod"));
    user.home.set("TF_HTTP_UNLOCK_ADDRESS", format!("https://{HOST}/state/prod"));
    (user, states, main.parent().expect("its directory").to_owned())
}

#[test]
fn state_is_kept_and_locked_behind_mutual_tls() {
    let Some(_) = terraform() else { return };
    let mut company = Company::found();
    let (user, states, directory) = state_behind(&mut company);
    let run = |words: &[&str]| exec(&user, words).in_directory(&directory).output();

    // 1. The backend is asked through the bridge; what is written and locked arrives with the certificate.
    run(&["terraform", "init", "-input=false", "-no-color"]).success();
    run(&["terraform", "plan", "-input=false", "-no-color"]).success();
    run(&["terraform", "apply", "-auto-approve", "-input=false", "-no-color"]).success();
    let state = states.state("/state/prod");
    assert!(String::from_utf8_lossy(&state.body.unwrap_or_default()).contains("kept"));
    assert!(["GET", "LOCK", "POST", "UNLOCK"].iter().all(|method| state.methods.iter().any(|m| m == method)));
    assert!(company.registry.requests().iter().all(|r| r.verify == "SUCCESS" && r.authorization.is_empty()));
    assert!(run(&["terraform", "output", "-no-color"]).success().stdout.contains("kept"));
    // 2. Neither token nor port of a run stays in the directory.
    let files = files_below(&directory).into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
    assert!(files.into_iter().all(|text| !text.contains("127.0.0.1:")));
    // 3. A password of the person's own has no place beside the token: said, and nothing is run.
    let refused = exec(&user, &["terraform", "plan"]).env("TF_HTTP_USERNAME", "ada").output();
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.contains("TF_HTTP_USERNAME is set"), "{}", refused.stderr);
    user.canary.check(&user.home);
}

#[test]
fn why_the_state_was_refused_is_said_when_terraform_has_failed() {
    let Some(_) = terraform() else { return };
    let mut company = Company::found();
    let (user, _states, directory) = state_behind(&mut company);

    // 1. The subject token is gone: no identity has an answer, and Terraform says only that the backend wants a password.
    std::fs::remove_file(user.home.path().join("token")).expect("the token's file");
    let init = exec(&user, &["terraform", "init", "-input=false", "-no-color"]).in_directory(&directory).output();
    assert_eq!(init.code, Some(1));
    // 2. The cause stands below it.
    let said = "credmint: no identity of registry.corp.example has an answer";
    assert!(init.stderr.contains("credmint: ") && init.stderr.contains(HOST), "{said}: {}", init.stderr);
    assert!(init.stderr.contains("\nhint: "), "{}", init.stderr);
    user.canary.check(&user.home);
}

#[test]
fn an_agent_that_is_killed_is_said_by_the_next_request() {
    let company = Company::found();
    let user = user_of(&company);

    // 1. A run whose agent is killed: the next request is answered all the same, with what happened.
    let line = "port=$(grep -o 127.0.0.1:[0-9]* \"$TF_CLI_CONFIG_FILE\" | head -n 1); echo \"$port\"; echo ready; read go; exit 1";
    let mut running = exec(&user, &["/bin/sh", "-c", line]).typed().start();
    let port = running.shows("the port", |text| {
        let port = text.lines().next()?.rsplit(':').next()?.parse::<u16>().ok()?;
        text.contains("ready").then_some(port)
    });
    let agent = user.home.agent();
    processes::signal(agent.pid, Signal::KILL);
    let ask = || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok_and(|_| {
            let url = format!("http://127.0.0.1:{port}/{HOST}/v1/modules/corp/network/aws/versions");
            let answer = Request::new("GET", &url).send();
            let line = answer.head.lines().next().unwrap_or_default();
            line == "HTTP/1.1 502 the credmint agent ended during this run; hint: run the command again"
        })
    };
    credmint_stories::wait_until("somebody stands in for the agent", ask);
    // 2. When the program has failed, it is said once more; nothing of the run is left.
    running.type_line("go");
    let output = running.output();
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.starts_with("credmint: the agent ended during this run"), "{}", output.stderr);
    assert_eq!(left(&user), Vec::<std::path::PathBuf>::new());
    user.canary.check(&user.home);
}

#[test]
fn a_request_under_way_ends_with_the_agent_that_is_killed() {
    let mut company = Company::found();
    let slow = "location /files/ { limit_rate 20k; types { } default_type text/plain; }";
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(slow).start();
    std::fs::create_dir_all(company.registry.site().join("files")).expect("a directory");
    std::fs::write(company.registry.site().join("files/large"), "x".repeat(1_000_000)).expect("a file");
    let user = user_of(&company);
    let url = format!("http://$port/{HOST}");
    let curl =
        format!("curl -sS --max-time 60 -o got -H \"Authorization: Bearer $TF_TOKEN_{}\"", HOST.replace('.', "_"));
    let line = |path: &str| {
        format!(
            "port=$(grep -o 127.0.0.1:[0-9]* \"$TF_CLI_CONFIG_FILE\" | head -n 1); {curl} {url}/v1/modules/corp/network/aws/versions && \
             echo ready; read go; {curl} {url}/{path}; echo \"curl $?\"; exit 1"
        )
    };
    // Either before a byte of the answer, or in the middle of it.
    for (path, freezes) in [("v1/modules/corp/network/aws/versions", true), ("files/large", false)] {
        let mut running = exec(&user, &["/bin/sh", "-c", &line(path)]).typed().start();
        running.shows("that the bridge answers", |text| text.contains("ready").then_some(()));
        let registry = company.registry.pid();
        if freezes {
            processes::signal(registry, Signal::STOP);
        }
        running.type_line("go");
        let is_asking = || processes::of_directory(user.home.root()).iter().any(|process| process.name == "curl");
        credmint_stories::wait_until("it asks", is_asking);
        std::thread::sleep(std::time::Duration::from_millis(300));
        let began = std::time::Instant::now();
        processes::signal(user.home.agent().pid, Signal::KILL);
        let output = running.output();
        processes::signal(registry, Signal::CONT);
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{path}: it took {:?}", began.elapsed());
        let says = |code| output.stdout.contains(&format!("curl {code}"));
        assert!(output.code == Some(1) && !says(0) && !says(28), "{path}: {}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains("credmint: the agent ended during this run"), "{path}: {}", output.stderr);
        assert_eq!(left(&user), Vec::<std::path::PathBuf>::new());
    }
    user.canary.check(&user.home);
}

#[test]
fn what_a_killed_run_and_its_killed_agent_left_behind_the_next_agent_removes() {
    let company = Company::found();
    let user = user_of(&company);
    let line = "echo ready; exec sleep 60";
    let mut running = exec(&user, &["/bin/sh", "-c", line]).start();
    running.shows("that it runs", |text| text.contains("ready").then_some(()));
    assert_eq!(left(&user).len(), 1);

    // 1. Both are killed: the file stays.
    let (agent, run) = (user.home.agent().pid, running.pid());
    processes::signal(agent, Signal::STOP);
    processes::signal(run, Signal::KILL);
    processes::signal(agent, Signal::KILL);
    assert!(processes::wait_for_end(agent, std::time::Duration::from_secs(5)));
    assert_eq!(left(&user).len(), 1);
    // 2. The next agent removes it.
    shell(&user, "true").success();
    assert_eq!(left(&user), Vec::<std::path::PathBuf>::new());
    let sleeper = processes::of_directory(user.home.root()).into_iter().find(|process| process.name == "sleep");
    sleeper.iter().for_each(|process| processes::end(process.pid));
    user.canary.check(&user.home);
}

#[test]
fn an_inner_run_has_its_own_port_and_the_persons_configuration_is_kept() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let user = user_of(&company);
    user.home.write(".terraformrc", "plugin_cache_dir = \"$HOME/cache\"\nprovider_installation {\n  direct {}\n}\n");
    user.home
        .write(".terraform.d/credentials.tfrc.json", "{\"credentials\":{\"other.example\":{\"token\":\"theirs\"}}}");
    user.home.make_directory("cache");

    // 1. The generated configuration has what the person's files say.
    let shown = shell(&user, "cat \"$TF_CLI_CONFIG_FILE\"").success().stdout;
    for part in ["plugin_cache_dir = \"$HOME/cache\"", "credentials \"other.example\"", "direct {}"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    // 2. Terraform understands it, in a run within a run: the plug-in cache is used.
    let inner = format!("{} exec -- terraform init -input=false -no-color", executable("credmint").display());
    shell(&user, &inner).success();
    assert!(!files_below(&user.home.path().join("cache")).is_empty());
    // 3. The inner run has another port, and other tokens.
    let show = "grep -o 127.0.0.1:[0-9]* \"$TF_CLI_CONFIG_FILE\" | head -n 1; echo \"$TF_TOKEN_registry_corp_example\"";
    let both = format!("{show}; {} exec -- /bin/sh -c '{show}'; {show}", executable("credmint").display());
    let output = exec(&user, &["/bin/sh", "-c", &both]).answer().output().success();
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[0] != lines[2] && lines[1] != lines[3], "another run");
    assert_eq!(lines[..2], lines[4..], "the outer run goes on");
    assert!(company.pki.minted() == 1);
    user.canary.check(&user.home);
}

#[test]
fn two_runs_at_once_have_nothing_of_each_other() {
    let company = Company::found();
    let mut user = user_of(&company);
    let line = "grep -o 127.0.0.1:[0-9]* \"$TF_CLI_CONFIG_FILE\" | head -n 1; echo \"$TF_TOKEN_registry_corp_example\"; echo ready; read go";
    let begin = || exec(&user, &["/bin/sh", "-c", line]).typed().answer().start();
    let (mut first, mut second) = (begin(), begin());
    let mut seen = [&mut first, &mut second].map(|running| {
        running.shows("port and token", |text| {
            let mut lines = text.lines();
            let port = lines.next()?.rsplit(':').next()?.parse::<u16>().ok()?;
            let token = lines.next()?.to_owned();
            text.contains("ready").then_some((port, token))
        })
    });
    let ask = |port: u16, token: &str| {
        let url = format!("http://127.0.0.1:{port}/{HOST}/v1/modules/corp/network/aws/versions");
        Request::new("GET", &url).header("Authorization", &format!("Bearer {token}")).send().status
    };
    // 1. Each token is good at its own port alone.
    let [(port, token), (other_port, other_token)] = &mut seen;
    assert_eq!((ask(*port, token), ask(*other_port, other_token)), (200, 200));
    assert_eq!((ask(*port, other_token), ask(*other_port, token)), (401, 401));
    // 2. When one run ends, its port is closed and the other goes on.
    first.type_line("go");
    first.output().success();
    assert!(std::net::TcpStream::connect(("127.0.0.1", *port)).is_err());
    assert_eq!(ask(*other_port, other_token), 200);
    second.type_line("go");
    second.output().success();
    // 3. The tokens stood in the one variable of the program, and nowhere else.
    user.canary.allow_variable("TF_TOKEN_registry_corp_example");
    for token in [token, other_token] {
        user.canary.watch("session token", token.clone());
    }
    user.canary.check(&user.home);
}

#[test]
fn control_c_reaches_the_program_once() {
    let company = Company::found();
    let user = user_of(&company);

    let inner = "trap 'echo heard' INT; echo ready; for i in 1 2 3 4 5 6; do sleep 0.1; done; echo over; exit 5";
    let inner = user.home.write("inner.sh", inner).display().to_string();
    let heard = |program: &str| {
        let program = format!("{program} /bin/sh {inner}");
        let outer = format!("trap : INT; {} exec -- {program}; echo status $?", executable("credmint").display());
        let mut running = user.home.run("/bin/sh").args(["-c", &outer]).terminal().typed().start();
        running.shows("that it waits", |text| text.contains("ready").then_some(()));
        running.type_line("\x03");
        let output = running.output();
        assert!(output.stdout.contains("over") && output.stdout.contains("status 5"), "{}", output.stdout);
        output.stdout.matches("heard").count()
    };

    // 1. At a terminal, Ctrl-C goes to the whole process group: the program hears it, and decides itself.
    assert_eq!(heard("env"), 1);
    // 2. We add nothing to that: what the terminal does not tell a program in a session of its own, we do not either.
    assert_eq!(heard("setsid"), 0);
    user.canary.check(&user.home);
}

#[test]
fn who_is_told_to_stop_stops_with_the_program_and_goes_on_with_it() {
    let company = Company::found();
    let user = user_of(&company);
    let mut running = exec(&user, &["/bin/sh", "-c", "echo $$; read go; exit 6"]).typed().start();
    let program = running.shows("its number", |text| text.lines().next()?.parse::<u32>().ok());
    let state = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_stopped = |pid: u32| state(pid).rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'));

    // 1. Both stop, both go on.
    processes::signal(running.pid(), Signal::TSTP);
    credmint_stories::wait_until("both stop", || is_stopped(program) && is_stopped(running.pid()));
    processes::signal(running.pid(), Signal::CONT);
    credmint_stories::wait_until("both go on", || !is_stopped(program) && !is_stopped(running.pid()));
    running.type_line("go");
    assert_eq!(running.output().code, Some(6));
    user.canary.check(&user.home);
}

#[test]
fn certificate_and_key_go_into_the_environment_only_where_the_person_asked_for_it_twice() {
    let Some(_) = terraform() else { return };
    let mut company = Company::found();
    let (mut user, states, directory) = state_behind(&mut company);
    let words = ["exec", "--env", "--", "terraform", "init", "-input=false", "-no-color"];

    // 1. The settings keep the key in the agent: `--env` alone does not change that.
    let refused = user.home.run(executable("credmint")).args(words).in_directory(&directory).output();
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.contains("hand out no certificate and key of registry.corp.example"), "{}", refused.stderr);
    user.canary.allow_variable("TF_HTTP_CLIENT_PRIVATE_KEY_PEM");
    // 2. With `deliver = "inline"` as well, Terraform itself goes to the backend, over mutual TLS.
    let token = user.home.path().join("token");
    let host = company.host("job", "deliver = \"inline\"");
    user.settings(&(file_identity(&token) + &company.issuer() + &host));
    let address = format!("{}/state/prod", company.registry.address());
    user.home.set("TF_HTTP_ADDRESS", address.clone());
    user.home.set("TF_HTTP_LOCK_ADDRESS", address.clone());
    user.home.set("TF_HTTP_UNLOCK_ADDRESS", address);
    let named = format!("--env={HOST}");
    for words in [["init", "-input=false", "-no-color"], ["apply", "-auto-approve", "-no-color"]] {
        let all = ["exec", named.as_str(), "--", "terraform"].into_iter().chain(words);
        user.home.run(executable("credmint")).args(all).in_directory(&directory).output().success();
    }
    assert!(String::from_utf8_lossy(&states.state("/state/prod").body.unwrap_or_default()).contains("kept"));
    // 3. `credmint env` names the variables, and shows values when it is told to.
    let hidden = user.credmint(&["env", &named]).stdout;
    assert!(hidden.contains("# TF_HTTP_CLIENT_PRIVATE_KEY_PEM (") && !hidden.contains("BEGIN"), "{hidden}");
    let shown = user.home.run(executable("credmint")).args(["env", &named, "--reveal"]).answer().output().success();
    assert!(shown.stdout.contains("export TF_HTTP_CLIENT_PRIVATE_KEY_PEM='-----BEGIN PRIVATE KEY-----"));
    assert_eq!(user.home.run(executable("credmint")).args(["env", "--reveal"]).output().code, Some(64));
    user.canary.check(&user.home);
}
