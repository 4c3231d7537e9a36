//! Tunnels of `credmint exec --carrier proxy`: to hosts that are none of the run's, through the proxy that the caller had, and what ends them.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story dials the proxy of a run, and stops at what is not there"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use credmint_stories::{Company, HOST, User, file_identity, person, wait_until};
use credmint_test_kit::home::executable;
use credmint_test_kit::processes::{self, Signal};
use credmint_test_kit::run::Running;
use credmint_test_kit::{Gate, Output, Proxy, Registry, Run, encoding};

/// A host that is none of the run's.
const OTHER: &str = "other.example";

/// A user of the company who has settings, and neither a helper nor a CLI configuration.
fn user_of(company: &Company) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &host(company, "job")));
    user
}

fn host(company: &Company, identity: &str) -> String {
    company.host(identity, &format!("upstream = \"{}\"", company.registry.address()))
}

fn exec<'home>(user: &'home User, line: &str) -> Run<'home> {
    user.home.run(executable("credmint")).args(["exec", "--carrier", "proxy", "--", "/bin/sh", "-c", line])
}

fn shell(user: &User, line: &str) -> Output {
    exec(user, line).output()
}

fn other() -> Registry {
    Registry::behind(Gate::Open).names(&[OTHER, "localhost"]).start()
}

#[test]
fn another_server_is_reached_by_its_own_certificate_and_nobodys_else() {
    let company = Company::found();
    let (mut user, other) = (user_of(&company), other());
    let url = format!("https://localhost:{}/v1/modules/corp/network/aws/versions", other.port());

    // 1. Who does not know that server's authority, does not know it in a run either: ours vouches for nobody else.
    let unknown = shell(&user, &format!("curl -sS --noproxy '' {url}"));
    assert_eq!(unknown.code, Some(60), "{}", unknown.stderr);
    // 2. What the caller's own file vouches for is believed, beside the authority of the run.
    user.home.set("SSL_CERT_FILE", other.ca_file());
    let both = format!("curl -sSf --noproxy '' {url} && curl -sSf https://{HOST}/v1/modules/corp/network/aws/versions");
    assert_eq!(shell(&user, &both).success().stdout.matches("1.0.0").count(), 2);
    // 3. That server saw neither certificate nor token of ours, and no name but its own.
    let requests = other.requests();
    assert!(!requests.is_empty() && requests.iter().all(|one| one.authorization.is_empty() && one.verify == "NONE"));
    assert!(company.registry.requests().iter().all(|one| one.verify == "SUCCESS"));
    user.canary.check(&user.home);
}

#[test]
fn other_hosts_go_through_the_callers_own_proxy_with_its_password_unless_exempted() {
    let company = Company::found();
    let (mut user, other) = (user_of(&company), other());
    let proxy = Proxy::for_whom_knows("ada:p@ss-of-the-companys-proxy", other.port());
    let with = |userinfo: &str| proxy.url().replace("http://", &format!("http://{userinfo}"));
    user.canary.watch("password of the proxy", "p%40ss-of-the-companys-proxy");
    for name in ["HTTPS_PROXY", "https_proxy", "CREDMINT_BEFORE_EXEC"] {
        user.canary.allow_variable(name);
    }
    user.home.set("SSL_CERT_FILE", other.ca_file());
    let url = format!("https://{OTHER}/v1/modules/corp/network/aws/versions");
    let asked = || proxy.asked().len();

    // 1. Through it, by name: the name leads nowhere from here. The host of the run is not asked of it.
    user.home.set("HTTPS_PROXY", with("ada:p%40ss-of-the-companys-proxy@"));
    let both = format!("curl -sSf {url} && curl -sSf https://{HOST}/v1/modules/corp/network/aws/versions");
    assert_eq!(shell(&user, &both).success().stdout.matches("1.0.0").count(), 2);
    assert_eq!(proxy.asked(), [format!("CONNECT {OTHER}:443 HTTP/1.1")]);
    // 2. An exempted one is gone to straight, even if the program sends it to us.
    let before = asked();
    for exempt in [OTHER, ".example", "*"] {
        let output = exec(&user, &format!("curl -sS --noproxy '' {url}")).env("NO_PROXY", exempt).output();
        assert!(output.stderr.contains("502"), "{exempt}: {}", output.stderr);
    }
    assert_eq!(asked(), before);
    // 3. In a run within a run, too, whose host the outer run does not see.
    let inner = format!("{} exec --carrier proxy -- /bin/sh -c 'curl -sSf {url}'", executable("credmint").display());
    assert!(shell(&user, &inner).success().stdout.contains("1.0.0"));
    assert_eq!(asked(), before + 1);
    // 4. A wrong password is said, and whose it is.
    user.home.set("HTTPS_PROXY", with("ada:wrong@"));
    let refused = shell(&user, &format!("curl -sSi {url}"));
    assert_ne!(refused.code, Some(0));
    let head = shell(&user, &format!("curl -sS -v {url}")).stderr;
    assert!(head.contains("502 the proxy made no tunnel to other.example:443: authorization required"), "{head}");
    assert!(head.contains("see HTTPS_PROXY"), "{head}");
    user.canary.check(&user.home);
}

/// Begins a run that shows the address of its proxy and waits; gives port and proof.
fn waiting<'home>(user: &'home User) -> (Running<'home>, u16, String) {
    let mut running = exec(user, "echo \"$HTTPS_PROXY\"; echo ready; read go").typed().answer().start();
    let (token, port) = running.shows("the address of the proxy", |text| {
        let (pair, place) = text.lines().next()?.strip_prefix("http://")?.split_once('@')?;
        text.contains("ready").then_some(())?;
        Some((pair.to_owned(), place.rsplit(':').next()?.parse::<u16>().ok()?))
    });
    (running, port, format!("Basic {}", encoding::base64(token.as_bytes())))
}

/// Asks a run for a tunnel, and gives it with the head of the answer.
fn tunnel(port: u16, proof: &str, to: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the port of the run");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a patience");
    let head = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nProxy-Authorization: {proof}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("written");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    (stream, String::from_utf8_lossy(&answer).into_owned())
}

/// Listens, greets whoever comes before they say a word, and keeps the connection open.
fn greeter() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                stream.write_all(b"220 ready\r\n").and_then(|()| std::io::copy(&mut stream.try_clone()?, &mut stream))
            });
        }
    });
    port
}

#[test]
fn a_server_that_speaks_first_is_heard_straight_and_through_a_proxy() {
    let company = Company::found();
    let mut user = user_of(&company);
    let (port, asked) = (greeter(), ["127.0.0.1", "mail.example"]);
    let proxy = Proxy::start(port);
    user.home.set("HTTPS_PROXY", proxy.url());
    let (mut running, own, proof) = waiting(&user);
    for name in asked {
        let (mut stream, head) = tunnel(own, &proof, &format!("{name}:{port}"));
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut said = [0; 11];
        stream.read_exact(&mut said).expect("what it says first");
        assert_eq!(&said, b"220 ready\r\n");
        stream.write_all(b"HELO").and_then(|()| stream.read_exact(&mut said[..4])).expect("an echo");
        assert_eq!(&said[..4], b"HELO");
    }
    assert_eq!(proxy.asked(), [format!("CONNECT mail.example:{port} HTTP/1.1")]);
    running.type_line("go");
    running.output().success();
}

/// Tells whether the other side closes within the patience of the stream.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// A program in a run that speaks over one tunnel to the host, word by word.
fn talking<'home>(user: &'home User) -> Running<'home> {
    let proxy = "t=${HTTPS_PROXY#http://credmint:}; export T=${t%@*}";
    let client = format!(
        "exec openssl s_client -quiet -verify_return_error -CAfile $SSL_CERT_FILE -servername {HOST} -connect {HOST}:443 \
         -proxy 127.0.0.1:${{t##*:}} -proxy_user credmint -proxy_pass env:T"
    );
    let mut running = exec(user, &format!("{proxy}; {client}")).typed().start();
    ask(&mut running);
    running.shows("an answer", |text| text.contains("\"1.0.0\"").then_some(()));
    running
}

fn ask(running: &mut Running<'_>) {
    for line in ["GET /v1/modules/corp/network/aws/versions HTTP/1.1\r", &format!("Host: {HOST}\r"), "\r"] {
        running.type_line(line);
    }
}

#[test]
fn lock_stop_and_the_end_of_a_run_end_its_tunnels() {
    let company = Company::found();
    let mut user = user_of(&company);
    user.canary.allow_variable("T");
    let port = greeter();
    let to = format!("127.0.0.1:{port}");

    for word in [&["lock"] as &[&str], &["agent", "stop"]] {
        // 1. An opened tunnel in use, and a blind one.
        let talking = talking(&user);
        let (waiting, own, proof) = waiting(&user);
        let (mut blind, head) = tunnel(own, &proof, &to);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        // 2. Both are ended by `lock`, and by the end of the agent.
        user.home.run(executable("credmint")).args(word.iter().copied()).input("correct horse\n").output().success();
        assert!(is_closed(&mut blind), "{word:?}");
        talking.output();
        // 3. There are no new ones.
        if word == ["lock"] {
            let (_, head) = tunnel(own, &proof, &to);
            assert!(head.starts_with("HTTP/1.1 403") && head.contains("credmint unlock"), "{head}");
            user.home.run(executable("credmint")).arg("unlock").input("correct horse\n").output().success();
            let (_, head) = tunnel(own, &proof, &to);
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        }
        let mut waiting = waiting;
        waiting.type_line("go");
        waiting.output();
    }
    user.canary.check(&user.home);
}

#[test]
fn sigkill_of_exec_ends_its_tunnels_and_leaves_no_file() {
    let company = Company::found();
    let mut user = user_of(&company);
    user.canary.allow_variable("T");
    let talking = talking(&user);
    let (waiting, own, proof) = waiting(&user);
    let (mut blind, _) = tunnel(own, &proof, &format!("127.0.0.1:{}", greeter()));
    [talking.pid(), waiting.pid()].into_iter().for_each(|pid| processes::signal(pid, Signal::KILL));
    assert!(is_closed(&mut blind));
    wait_until("the program at the other end of a tunnel goes, too", || {
        user.home.processes().iter().all(|process| process.name != "openssl")
    });
    wait_until("the port is closed", || TcpStream::connect(("127.0.0.1", own)).is_err());
    let files = credmint_test_kit::home::files_below(&user.home.runtime_directory());
    assert!(files.iter().all(|path| !path.display().to_string().contains("/run-")), "{files:?}");
    drop((talking.output(), waiting.output()));
    user.canary.check(&user.home);
}

#[test]
fn logout_in_the_middle_of_a_tunnel_is_said_by_the_next_answer() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.canary.allow_variable("T");
    user.settings(&(person(&company.provider, "") + &company.issuer() + &host(&company, "me")));
    user.signs_in(&company.provider, "alice");
    let mut talking = talking(&user);
    let before = company.registry.requests().len();
    user.credmint(&["logout", "me"]);
    ask(&mut talking);
    talking.shows("why not", |text| text.contains("has ended during this run").then_some(()));
    assert_eq!(company.registry.requests().len(), before, "nothing was asked of the host any more");
    processes::signal(talking.pid(), Signal::TERM);
    drop(talking.output());
    user.canary.check(&user.home);
}

#[test]
fn a_run_within_a_run_goes_its_own_way_whatever_its_carrier() {
    let company = Company::found();
    let user = user_of(&company);
    let url = format!("https://{HOST}/v1/modules/corp/network/aws/versions");
    let show = "echo ${HTTPS_PROXY##*:}; echo $TF_CLI_CONFIG_FILE";
    let credmint = executable("credmint").display().to_string();

    // 1. The inner run has `host` blocks of its own, and the outer one's proxy is there still.
    let inner = format!(
        "{show}; {credmint} exec --carrier host -- /bin/sh -c '{show}; grep -c \"127.0.0.1:\" $TF_CLI_CONFIG_FILE; curl -sSf {url}'"
    );
    let output = shell(&user, &inner).success().stdout;
    let lines: Vec<&str> = output.lines().collect();
    assert!(
        lines[0] == lines[2] && lines[1] != lines[3] && lines[4] != "0" && output.contains("\"1.0.0\""),
        "{output}"
    );
    // 2. The inner run has a proxy of its own: what it believes has both authorities, and the first variables are remembered.
    let before = "echo before=$CREDMINT_BEFORE_EXEC; grep -c BEGIN $SSL_CERT_FILE";
    let inner =
        format!("{show}; {before}; {credmint} exec --carrier proxy -- /bin/sh -c '{show}; {before}; curl -sSf {url}'");
    let output = shell(&user, &inner).success().stdout;
    let lines: Vec<&str> = output.lines().collect();
    let count = |line: &str| line.parse::<u32>().unwrap_or_default();
    assert!(lines[0] != lines[4] && lines[2] == lines[6] && count(lines[7]) == count(lines[3]) + 1, "{output}");
    assert!(output.contains("\"1.0.0\"") && company.pki.minted() == 1);
    assert!(company.registry.requests().iter().all(|one| one.verify == "SUCCESS" && one.authorization.is_empty()));
    user.canary.check(&user.home);
}

#[test]
fn an_agent_that_is_started_by_hand_in_a_run_has_nothing_of_it() {
    let company = Company::found();
    let mut user = user_of(&company);
    user.home.set("SSL_CERT_FILE", "/nonexistent/of-the-caller.pem");
    let socket = user.home.runtime_directory().join("by-hand.sock");
    let agent =
        format!("{} --socket {} & echo started; wait", executable("credmint-agent").display(), socket.display());
    let mut running = exec(&user, &agent).start();
    running.shows("that it runs", |text| text.contains("started").then_some(()));
    wait_until("it listens", || socket.exists());
    let by_hand = user.home.agents().into_iter().find(|agent| processes::contains(&agent.arguments, b"by-hand"));
    let by_hand = by_hand.expect("the agent");
    let has = |text: &str| processes::contains(&by_hand.environment, text.as_bytes());
    assert!(has("SSL_CERT_FILE=/nonexistent/of-the-caller.pem"), "as it was before the run");
    assert!(!has("HTTPS_PROXY=") && !has("https_proxy=") && !has("CREDMINT_BEFORE_EXEC="));
    processes::end(by_hand.pid);
    running.output().success();
    user.canary.check(&user.home);
}
