//! One run of the helper, seen from Terraform's side: against no agent, and against one that does as it is told.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and starts programs in place of a user"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const HOST: &str = "registry.corp.example";
const TOKEN: &str = r#"{"reply":"credential","token":"canary-7f3a"}"#;

/// Holds an empty home with one settings file, and ends the agent that was started in it.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let home = Self(std::env::temp_dir().join(format!("credmint-run-{}-{number}", std::process::id())));
        for folder in ["run", ".config/credmint"] {
            fs::create_dir_all(home.path(folder)).expect("makes");
        }
        fs::set_permissions(home.path("run"), fs::Permissions::from_mode(0o700)).expect("changes");
        fs::write(home.path(".config/credmint/config.toml"), format!("[host.\"{HOST}\"]\n")).expect("writes");
        home
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.join(inside)
    }

    fn says(&self, reply: &str) -> &Self {
        fs::create_dir_all(self.path("run/credmint")).expect("makes");
        fs::set_permissions(self.path("run/credmint"), fs::Permissions::from_mode(0o700)).expect("changes");
        fs::write(self.path("run/credmint/reply"), reply).expect("writes");
        self
    }

    fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terraform-credentials-credmint"));
        command.args(arguments).env_clear().stdin(Stdio::null());
        command.env("HOME", &self.0).env("XDG_RUNTIME_DIR", self.path("run")).env("PATH", "/usr/bin:/bin");
        command.env("CREDMINT_AGENT_PROGRAM", example("agent_for_tests"));
        command
    }

    fn get(&self) -> Output {
        self.command(&["get", HOST]).output().expect("runs")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Ok(pid) = self.read("run/credmint/pid").parse::<i32>()
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap_or_default();
        }
        fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

fn example(name: &str) -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_terraform-credentials-credmint")).parent().expect("a directory");
    beside.join("examples").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn answers(output: &Output, stdout: &str) {
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), (stdout, Some(0)), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

#[track_caller]
fn fails(output: &Output, status: i32, what: &str, hint: &str) {
    let expected = format!("terraform-credentials-credmint: {what}\nhint: {hint}\n");
    assert_eq!((text(&output.stderr), output.status.code()), (expected, Some(status)));
    assert_eq!(text(&output.stdout), "", "nothing useful on standard output");
}

#[test]
fn get_starts_an_agent_and_the_next_get_finds_it() {
    let home = Home::new();
    home.says(TOKEN);
    answers(&home.get(), "{\"token\":\"canary-7f3a\"}\n");
    let pid = home.read("run/credmint/pid");
    answers(&home.get(), "{\"token\":\"canary-7f3a\"}\n");
    assert_eq!(home.read("run/credmint/pid"), pid);
    let request: serde_json::Value =
        serde_json::from_str(home.read("run/credmint/requests").lines().next().expect("one")).expect("JSON");
    assert_eq!((&request["ask"], &request["hostname"]), (&"get".into(), &HOST.into()));
    assert_eq!((&request["program"], &request["settings"]), (&"terraform-credentials-credmint".into(), &().into()));
    assert!(request["deadline_ms"].as_u64().is_some_and(|ms| (5_000..=10_000).contains(&ms)), "{request}");
}

#[test]
fn a_started_agent_has_nothing_of_the_callers() {
    let home = Home::new();
    home.says(TOKEN);
    let lock = fs::File::create(home.path("lock")).expect("makes");
    // As a shell's `( flock 9; terraform init ) 9>lock` does: a descriptor that is not close-on-exec.
    rustix::io::fcntl_setfd(&lock, rustix::io::FdFlags::empty()).expect("inheritable");
    let mut command = home.command(&["get", HOST]);
    command.env("TF_TOKEN_registry_corp_example", "canary").env("WORKLOAD_TOKEN", "canary").env("HTTPS_PROXY", "x");
    let before = Instant::now();
    answers(&command.output().expect("runs"), "{\"token\":\"canary-7f3a\"}\n");
    assert!(before.elapsed() < Duration::from_secs(5), "output() waits for whoever holds the pipes");
    let mut names: Vec<_> = home.read("run/credmint/environment").lines().map(str::to_owned).collect();
    names.sort();
    assert_eq!(names, ["CREDMINT_SOCKET", "HOME", "PATH", "XDG_RUNTIME_DIR"]);
    assert_eq!(home.read("run/credmint/session"), "true /");
    let open = home.read("run/credmint/open");
    assert_eq!(open.lines().filter(|target| *target == "/dev/null").count(), 3, "{open}");
    assert!(!open.contains("pipe:") && !open.contains("/lock"), "{open}");
}

#[test]
fn six_at_once_start_one_agent() {
    let home = Home::new();
    home.says(TOKEN);
    let all: Vec<_> = (0..6)
        .map(|_| home.command(&["get", HOST]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts"))
        .collect();
    for one in all {
        answers(&one.wait_with_output().expect("ends"), "{\"token\":\"canary-7f3a\"}\n");
    }
    let exe = example("agent_for_tests");
    let is_of_this_home = |process: &fs::DirEntry| {
        let runs = fs::read_link(process.path().join("exe")).is_ok_and(|target| target == exe);
        runs && fs::read(process.path().join("environ")).is_ok_and(|names| {
            names.windows(home.0.as_os_str().len()).any(|part| part == home.0.as_os_str().as_encoded_bytes())
        })
    };
    let agents = || fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_of_this_home).count();
    // Those that found the place taken may still be ending.
    let patience = Instant::now() + Duration::from_secs(5);
    while agents() > 1 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(agents() <= 1);
}

#[test]
fn a_host_that_no_settings_name_gets_an_empty_object_and_no_agent() {
    let home = Home::new();
    for host in ["registry.terraform.io", "registry.corp.example:8443", "other.example"] {
        answers(&home.command(&["get", host]).output().expect("runs"), "{}\n");
    }
    answers(&home.command(&["get", "other.example"]).env("CREDMINT_AGENT", "once").output().expect("runs"), "{}\n");
    fs::remove_dir_all(home.path(".config")).expect("removes");
    answers(&home.get(), "{}\n");
    assert!(!home.path("run/credmint/pid").exists());
}

#[test]
fn a_host_that_no_settings_name_needs_no_healthy_place() {
    let home = Home::new();
    fs::create_dir(home.path("run/credmint")).expect("makes");
    fs::set_permissions(home.path("run/credmint"), fs::Permissions::from_mode(0o777)).expect("changes");
    answers(&home.command(&["get", "registry.terraform.io"]).output().expect("runs"), "{}\n");
}

#[test]
fn without_home_and_runtime_directory_there_is_still_an_answer() {
    let home = Home::new();
    let temporary = home.path("tmp");
    fs::create_dir(&temporary).expect("makes");
    let uid = rustix::process::geteuid().as_raw();
    let run = temporary.join(format!("credmint-{uid}"));
    let nowhere = |host| {
        let mut command = home.command(&["get", host]);
        command.env_remove("HOME").env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &temporary);
        command
    };
    answers(&nowhere("other.example").output().expect("runs"), "{}\n");
    if PathBuf::from(format!("/run/user/{uid}")).exists() {
        return;
    }
    let listener = agent_that_answers(&run.join("agent.sock"), TOKEN);
    let settings = home.path(".config/credmint/config.toml");
    let named = nowhere(HOST).env("CREDMINT_CONFIG", settings).output().expect("runs");
    answers(&named, "{\"token\":\"canary-7f3a\"}\n");
    drop(listener);
}

#[test]
fn a_read_only_home_loses_only_the_last_failure() {
    let home = Home::new();
    fs::set_permissions(&home.0, fs::Permissions::from_mode(0o500)).expect("changes");
    home.says(r#"{"reply":"failure","kind":"refused","what":"no","hint":"credmint status"}"#);
    fails(&home.get(), 77, "no", "credmint status");
    fs::set_permissions(&home.0, fs::Permissions::from_mode(0o700)).expect("changes");
}

#[test]
fn the_agents_failure_is_told_recorded_and_has_its_exit_status() {
    let home = Home::new();
    home.says(r#"{"reply":"failure","kind":"settings","what":"no issuer for registry.corp.example","hint":"credmint explain"}"#);
    fails(&home.get(), 78, "no issuer for registry.corp.example", "credmint explain");
    let kept = home.read(".local/state/credmint/last-failures.jsonl");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("one line");
    assert_eq!((&kept["kind"], &kept["hostname"]), (&"settings".into(), &HOST.into()));
    assert_eq!(kept["what"], "no issuer for registry.corp.example");
}

#[test]
fn an_agent_that_dies_before_it_answers_is_started_again() {
    let home = Home::new();
    home.says(TOKEN);
    answers(&home.get(), "{\"token\":\"canary-7f3a\"}\n");
    fs::write(home.path("run/credmint/die"), "").expect("writes");
    let first = home.read("run/credmint/pid");
    answers(&home.get(), "{\"token\":\"canary-7f3a\"}\n");
    assert_ne!(home.read("run/credmint/pid"), first);
}

#[test]
fn a_stale_socket_is_replaced() {
    let home = Home::new();
    home.says(TOKEN);
    drop(UnixListener::bind(home.path("run/credmint/agent.sock")).expect("binds"));
    answers(&home.get(), "{\"token\":\"canary-7f3a\"}\n");
}

#[test]
fn an_agent_that_ends_at_once_is_told() {
    let home = Home::new();
    fs::write(home.says(TOKEN).path("run/credmint/refuse"), "").expect("writes");
    let what = "no answer for registry.corp.example: the agent ended as soon as it was started (exit status: 3)";
    fails(&home.get(), 69, what, "credmint status");
}

#[test]
fn no_agent_to_start_is_told() {
    let home = Home::new();
    let output =
        home.command(&["get", HOST]).env("CREDMINT_AGENT_PROGRAM", "/nonexistent/agent").output().expect("runs");
    let what = "no answer for registry.corp.example: credmint-agent is neither beside this program nor in PATH";
    fails(&output, 78, what, "put credmint-agent beside this program, or set CREDMINT_AGENT_PROGRAM to its path");
}

#[test]
fn a_path_that_is_too_long_is_told_with_what_to_set() {
    let home = Home::new();
    let long = home.path(&"x".repeat(100)).join("agent.sock");
    let output = home.command(&["get", HOST]).env("CREDMINT_SOCKET", &long).output().expect("runs");
    let what = format!(
        "no answer for registry.corp.example: the socket's path {} is too long for this system",
        long.display()
    );
    fails(&output, 78, &what, "set CREDMINT_SOCKET or XDG_RUNTIME_DIR to a shorter path");
}

#[test]
fn a_directory_that_is_open_to_others_is_told() {
    let home = Home::new();
    home.says(TOKEN);
    fs::set_permissions(home.path("run/credmint"), fs::Permissions::from_mode(0o770)).expect("changes");
    let output = home.get();
    // Somebody else may stand there: Terraform is stopped by a token that no HTTP client sends (H15).
    let stop = "{\"token\":\"credmint stops Terraform here\\n\"}\n";
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), (stop, Some(0)));
    assert!(
        text(&output.stderr).contains("is open to other users\nhint: set CREDMINT_SOCKET"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn once_asks_a_child_and_leaves_none() {
    let home = Home::new();
    let settings = home.path(".config/credmint/config.toml");
    fs::write(settings.with_extension("reply"), TOKEN).expect("writes");
    let mut command = home.command(&["get", HOST]);
    command.env("CREDMINT_AGENT", "once").env("CREDMINT_CONFIG", &settings);
    answers(&command.output().expect("runs"), "{\"token\":\"canary-7f3a\"}\n");
    assert!(home.read(".config/credmint/config.once").contains(&format!("\"settings\":\"{}\"", settings.display())));
    assert!(!home.path("run/credmint").exists(), "no socket is needed");
}

#[test]
fn what_the_agent_needs_is_supplied_from_the_callers_environment_and_files() {
    let home = Home::new();
    fs::write(home.path("token"), "from a file\n").expect("writes");
    home.says(&format!(
        "{}\n{TOKEN}",
        r#"{"reply":"need","environment":["WORKLOAD_TOKEN","ABSENT"],"files":["~/token","~/absent","~/run"]}"#
    ));
    let mut command = home.command(&["get", HOST]);
    command.env("WORKLOAD_TOKEN", "from the environment").env("OTHER", "not asked for");
    answers(&command.output().expect("runs"), "{\"token\":\"canary-7f3a\"}\n");
    let supply = home.read("run/credmint/requests").lines().nth(1).map(str::to_owned);
    let expected = r#"{"environment":{"WORKLOAD_TOKEN":"from the environment"},"files":{"~/token":"from a file\n"},"unreadable":{"~/run":"is no regular file"}}"#;
    assert_eq!(supply.as_deref(), Some(expected));
}

#[test]
fn an_answer_that_terraform_could_not_use_is_a_failure() {
    let home = Home::new();
    home.says(r#"{"reply":"credential","token":"a\nb"}"#);
    let what = "no answer for registry.corp.example: the token has a byte at position 1 that no HTTP header can have";
    fails(&home.get(), 70, what, "credmint explain registry.corp.example");
    for reply in [r#"{"reply":"riddle"}"#, r#"{"reply":"done"}"#] {
        home.says(reply);
        let what = "no answer for registry.corp.example: the agent's answer was not understood";
        fails(&home.get(), 70, what, "credmint agent stop");
    }
}

#[test]
fn store_drains_stdin_before_it_says_no() {
    let home = Home::new();
    home.says(r#"{"reply":"failure","kind":"refused","what":"tokens are minted, there is nothing to store"}"#);
    for (object, status, what) in [
        (br#"{"token":"AT-123"}"#.to_vec(), 77, "tokens are minted, there is nothing to store"),
        (b"[]".to_vec(), 64, "standard input is not one JSON object (line 1, column 0)"),
        (vec![b' '; 1_000_000], 64, "the object is longer than 65536 bytes"),
    ] {
        let mut command = home.command(&["store", HOST]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        child.stdin.take().expect("a pipe").write_all(&object).expect("drained");
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(status));
        assert!(text(&output.stderr).starts_with(&format!("terraform-credentials-credmint: {what}\n")), "{what}");
    }
}

#[test]
fn forget_succeeds_when_nothing_is_kept_and_asks_when_an_agent_runs() {
    let home = Home::new();
    let forget = || home.command(&["forget", HOST]).output().expect("runs");
    answers(&forget(), "");
    assert!(!home.path("run/credmint/pid").exists());
    home.says(TOKEN);
    answers(&home.get(), "{\"token\":\"canary-7f3a\"}\n");
    home.says(r#"{"reply":"done"}"#);
    answers(&forget(), "");
    assert!(home.read("run/credmint/requests").contains(r#""ask":"forget""#));
}

#[test]
fn a_call_that_is_none_fails_with_a_message() {
    let home = Home::new();
    let what = "the second last argument is none of get, store and forget";
    fails(&home.command(&["list", HOST]).output().expect("runs"), 64, what, "terraform-credentials-credmint --help");
    let what = "two arguments are needed, a verb and a hostname, and 0 came";
    fails(&home.command(&[]).output().expect("runs"), 64, what, "terraform-credentials-credmint --help");
    let version = home.command(&["--version"]).output().expect("runs");
    answers(&version, &format!("terraform-credentials-credmint {}\n", env!("CARGO_PKG_VERSION")));
    assert!(
        text(&home.command(&["--help"]).output().expect("runs").stdout).contains("credentials_helper \"credmint\"")
    );
}

/// Terraform hides standard error on most paths. util-linux' `script` gives the helper a terminal of its own.
#[test]
fn a_failure_is_one_line_on_the_terminal_when_standard_error_is_hidden() {
    let home = Home::new();
    home.says(r#"{"reply":"failure","kind":"refused","what":"no","hint":"credmint status"}"#);
    let on_a_terminal = |redirection: &str| {
        let helper = env!("CARGO_BIN_EXE_terraform-credentials-credmint");
        let environment = format!(
            "HOME={h} XDG_RUNTIME_DIR={h}/run CREDMINT_AGENT_PROGRAM={a}",
            h = home.0.display(),
            a = example("agent_for_tests").display()
        );
        let line = format!("env {environment} {helper} get {HOST} {redirection}");
        Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output()
    };
    let Ok(hidden) = on_a_terminal("2>/dev/null") else { return };
    assert_eq!(text(&hidden.stdout), "terraform-credentials-credmint: no (hint: credmint status)\r\n");
    let seen = on_a_terminal("").expect("runs");
    assert_eq!(text(&seen.stdout), "terraform-credentials-credmint: no\r\nhint: credmint status\r\n");
}

/// Answers one request on a socket, without being a process of its own.
fn agent_that_answers(socket: &Path, reply: &'static str) -> std::thread::JoinHandle<()> {
    use std::io::Read;
    let folder = socket.parent().expect("a directory");
    fs::create_dir_all(folder).expect("makes");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("changes");
    let listener = UnixListener::bind(socket).expect("binds");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        let mut head = [0; 4];
        stream.read_exact(&mut head).expect("a frame");
        let mut json = vec![0; u32::from_be_bytes(head) as usize];
        stream.read_exact(&mut json).expect("a frame");
        let length = u32::try_from(reply.len()).expect("short").to_be_bytes();
        stream.write_all(&[&length, reply.as_bytes()].concat()).expect("writes");
    })
}
