//! The bridge's audit: what is in its lines, what never is, and that nothing stops when they cannot be written.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use credmint_faults::fake::{Act, Fake, Received};
use credmint_faults::raw::{self, Answer};
use credmint_faults::{HOST, JOB, User};
use credmint_test_kit::{Syslog, random};
use serde_json::{Value, json};

const VERSIONS: &str = "/v1/modules/corp/network/aws/versions?secret=1";
const DOWNLOAD: &str = "/v1/modules/corp/network/aws/1.0.0/download";

struct Client {
    user: User,
    session: String,
}

impl Client {
    fn of(fake: &Fake, audit: &str) -> Self {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        user.settings(format!(
            "{JOB}[bridge]\naudit = \"{audit}\"\n[issuer.pass]\nkind = \"oidc\"\n\n[host.\"{HOST}\"]\nidentity = \"job\"\n\
             issuer = \"pass\"\ndeliver = \"bridge\"\nupstream = \"{}\"\n",
            fake.address()
        ));
        let session = user.bearer();
        Self { user, session }
    }

    fn get(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.session);
        raw::request(self.user.port, "GET", &format!("/{HOST}{path}"), &[("Authorization", &bearer)])
    }

    fn status(&self) -> String {
        self.user.home.run("credmint").arg("status").output().success().stdout
    }
}

fn well(request: &Received) -> Act {
    match request.path.as_str() {
        DOWNLOAD => Act::status(204, "X-Terraform-Get", "/archives/network.zip?key=1"),
        _ => Act::json(200, &json!({})),
    }
}

/// Reads the lines once there are so many: each is written when its answer has ended.
fn lines(path: &Path, count: usize) -> Vec<Value> {
    let read = || fs::read_to_string(path).unwrap_or_default();
    for _ in 0..100 {
        if read().lines().count() >= count {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    read().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_request_is_one_line_without_a_secret_and_the_file_may_be_moved_away() {
    let fake = Fake::start(well);
    let client = Client::of(&fake, "~/audit.jsonl");
    let (path, moved) = (client.user.home.path().join("audit.jsonl"), client.user.home.path().join("audit.1"));
    assert_eq!(client.get(VERSIONS).status, 200);
    let archive = client.get(DOWNLOAD).header("X-Terraform-Get").expect("an archive").to_owned();
    let archive = archive.split_once(&format!(":{}", client.user.port)).expect("at the bridge").1.to_owned();
    assert_eq!(raw::request(client.user.port, "GET", &archive, &[]).status, 200);
    // What nobody had the right to is not written: everybody on the machine could fill the disk with it.
    assert_eq!(raw::request(client.user.port, "GET", &format!("/{HOST}{VERSIONS}"), &[]).status, 401);
    let text = lines(&path, 3);
    let told = |at: usize, key: &str| text[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(text.len(), 3, "{text:?}");
    assert_eq!(
        [told(0, "path"), told(1, "path"), told(2, "path")],
        ["/v1/modules/corp/network/aws/versions", DOWNLOAD, "/archives/network.zip"]
    );
    assert_eq!([told(0, "host"), told(0, "identity"), told(0, "method")], [HOST, "job", "GET"]);
    assert_eq!([&text[0]["status"], &text[0]["bytes"], &text[1]["status"]], [200, 2, 204]);
    let secret = archive.split('/').nth(3).expect("a secret");
    let whole = fs::read_to_string(&path).expect("there");
    assert!(!whole.contains(secret) && !whole.contains(&client.session) && !whole.contains('?'), "{whole}");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);

    fs::rename(&path, &moved).expect("rotated");
    assert_eq!(client.get(VERSIONS).status, 200);
    assert_eq!((lines(&path, 1).len(), lines(&moved, 3).len()), (1, 3));
    client.user.check();
}

#[test]
fn what_cannot_be_written_stops_nothing_and_is_told() {
    let fake = Fake::start(well);
    let client = Client::of(&fake, "~/missing/audit.jsonl");
    assert_eq!((client.get(VERSIONS).status, client.get(VERSIONS).status), (200, 200));
    let status = client.status();
    assert!(status.contains("audit      2 lines lost") && status.contains("missing/audit.jsonl"), "{status}");
    client.user.check();
}

#[test]
fn a_full_disk_stops_nothing_and_is_told() {
    let fake = Fake::start(well);
    let client = Client::of(&fake, "~/small/audit.jsonl");
    let disk = client.user.home.make_directory("small");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4k", "tmpfs"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no small disk can be mounted here");
        return;
    }
    let answers: Vec<u16> = (0..60).map(|_| client.get(VERSIONS).status).collect();
    let (status, written) = (client.status(), fs::read(disk.join("audit.jsonl")).unwrap_or_default().len());
    drop(Command::new("umount").arg(&disk).status());
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    assert!(status.contains("lines lost") && status.contains("No space left"), "{status}");
    assert!((1..=4096).contains(&written), "{written}");
    client.user.check();
}

/// Waits for so many lines of the daemon.
fn written(syslog: &Syslog, count: usize) -> Vec<String> {
    for _ in 0..250 {
        if syslog.lines().len() >= count {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    syslog.lines()
}

#[test]
fn a_real_syslog_gets_the_same_lines_and_is_found_again_when_it_was_away() {
    let fake = Fake::start(well);
    let mut syslog = Syslog::start();
    let client = Client::of(&fake, &format!("syslog:{}", syslog.socket().display()));
    assert_eq!(client.get(VERSIONS).status, 200);
    let lines = written(&syslog, 1);
    let (head, text) = lines[0].split_once("] ").expect("a head");
    assert!(head.starts_with("authpriv.info credmint-agent["), "{head}");
    assert_eq!(head.split_once('[').expect("a process").1, client.user.home.agent().pid.to_string());
    let line: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(
        [&line["host"], &line["path"], &line["identity"]],
        [HOST, VERSIONS.trim_end_matches("?secret=1"), "job"]
    );
    assert_eq!([&line["status"], &line["bytes"]], [200, 2]);
    assert!(!client.status().contains("audit "), "nothing is lost");

    // While it is away, requests go on and the lines are counted.
    syslog.stop();
    assert_eq!((client.get(VERSIONS).status, client.get(VERSIONS).status), (200, 200));
    let status = client.status();
    assert!(status.contains("audit      2 lines lost") && status.contains("syslog at"), "{status}");
    syslog.go_on();
    assert_eq!(client.get(VERSIONS).status, 200);
    assert_eq!(written(&syslog, 2).len(), 2);
    assert!(client.status().contains("audit      2 lines lost"));
    client.user.check();
}

#[test]
fn a_full_syslog_is_not_waited_for() {
    let (fake, directory) = (Fake::start(well), credmint_test_kit::peer::directory());
    // Nobody reads it: a real daemon cannot be had to do that at a moment that is known.
    let path = directory.path().join("log");
    let _silent = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
    let client = Client::of(&fake, &format!("syslog:{}", path.display()));
    let most = fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").expect("Linux");
    let answers: Vec<u16> =
        (0..most.trim().parse::<u32>().expect("a number") + 5).map(|_| client.get(VERSIONS).status).collect();
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    assert!(client.status().contains(" lines lost"), "{}", client.status());
    client.user.check();
}

#[test]
fn a_request_whose_client_goes_away_is_a_line_too() {
    let fake = Fake::start(|request: &Received| match request.path.as_str() {
        DOWNLOAD => Act::Silence,
        // It promises more than it sends.
        _ => Act::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n12345".to_vec()),
    });
    let client = Client::of(&fake, "~/audit.jsonl");
    let path = client.user.home.path().join("audit.jsonl");
    // 1. Before an answer began.
    let text = format!(
        "GET /{HOST}{DOWNLOAD} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
        client.user.port, client.session
    );
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", client.user.port)).expect("the bridge");
    std::io::Write::write_all(&mut stream, text.as_bytes()).expect("sent");
    while fake.count(DOWNLOAD) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(stream);
    let line = &lines(&path, 1)[0];
    assert_eq!([&line["path"], &line["identity"]], [DOWNLOAD, "job"]);
    assert_eq!((&line["status"], &line["bytes"]), (&Value::Null, &json!(0)));
    // 2. In the middle of one that the upstream broke off.
    client.get(VERSIONS);
    let line = &lines(&path, 2)[1];
    assert_eq!((&line["status"], &line["bytes"]), (&json!(200), &json!(5)));
    client.user.check();
}
