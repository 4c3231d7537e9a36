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
use credmint_test_kit::random;
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
