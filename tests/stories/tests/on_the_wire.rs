//! What HTTP can do passes the bridge: ranges, resumed downloads, uploads that ask first, trailers, a gone client, a certificate that ends.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, writes files and runs curl"
)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use credmint_stories::{Company, HOST, User, file_identity, wait_until};
use credmint_test_kit::{Gate, Registry, peer};

/// What the registry of these stories has besides: files, a slow one, a place for uploads, one with a trailer.
const MORE: &str = r#"
    location /files/ { add_header X-Seen "$http_accept_encoding|$http_te|$http_expect" always; }
    location = /files/packed.tgz { add_header Content-Encoding gzip; }
    location /slow/ { alias site/files/; limit_rate 100k; }
    location /trailed/ { alias site/files/; add_header Trailer X-Sum; add_trailer X-Sum $http_te-; }
    location /uploads/ { dav_methods PUT; create_full_put_path on; client_max_body_size 4m; }
    location = /v1/modules/corp/files/aws/1.0.0/download { add_header X-Terraform-Get $arg_of always; return 204; }
"#;
const SIZE: usize = 3_000_017;

struct Wire {
    company: Company,
    user: User,
    session: String,
    content: Vec<u8>,
}

impl Wire {
    /// A registry that speaks HTTP/2 too, and certificates that are good for so long.
    fn of(ttl: &str) -> Self {
        let mut company = Company::found();
        company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(MORE).start();
        let files = company.registry.site().join("files");
        std::fs::create_dir_all(&files).expect("a directory");
        let content: Vec<u8> = (0..SIZE).map(|at| (at * 7 + at / 251) as u8).collect();
        for name in ["big.zip", "packed.tgz"] {
            std::fs::write(files.join(name), &content).expect("a file");
        }
        let mut user = User::move_in();
        let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
        let issuer = company.issuer_with(&format!("common_name = \"{{email}}\"\nttl = \"{ttl}\"\n"));
        user.settings(&(file_identity(&token) + &issuer + &company.host("job", "")));
        user.setup(company.registry.address());
        let session = user.got("token");
        Self { company, user, session, content }
    }

    fn tell(story: impl Fn(&Self)) {
        let wire = Self::of("1h");
        story(&wire);
        let seen = wire.company.registry.requests();
        assert!(seen.iter().all(|one| one.verify == "SUCCESS" && one.protocol == "HTTP/1.1"), "{seen:?}");
        wire.user.canary.check(&wire.user.home);
    }

    fn api(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{HOST}{path}", self.user.port)
    }

    /// Has the bridge make up an address for a file.
    fn capability(&self, path: &str) -> String {
        let answer = self.curl(&self.api(&format!("/v1/modules/corp/files/aws/1.0.0/download?of={path}")), &[]);
        assert_eq!(answer.status, 204, "{}", answer.head);
        answer.header("X-Terraform-Get").expect("an address").to_owned()
    }

    /// The two ways to a file.
    fn ways(&self, path: &str) -> [String; 2] {
        [self.api(path), self.capability(path)]
    }

    /// Runs the real curl; the session stands in its standard input, nowhere else.
    fn curl(&self, url: &str, options: &[&str]) -> Curl {
        self.curl_with(url, options, &[])
    }

    fn curl_with(&self, url: &str, options: &[&str], stdin: &[u8]) -> Curl {
        let directory = peer::directory();
        let (head, body) = (directory.path().join("head"), directory.path().join("body"));
        let bearer =
            if url.contains("/.cap/") { String::new() } else { format!("Authorization: Bearer {}", self.session) };
        let fields = self.user.home.write("fields", bearer);
        let mut command = Command::new("curl");
        command.args(["-s", "-q", "--max-time", "50", "-D"]).arg(&head);
        if !options.contains(&"-o") {
            command.arg("-o").arg(&body);
        }
        command.arg("-H").arg(format!("@{}", fields.display())).args(options).arg(url).env_clear();
        command.args(["-w", "%{http_code} %{size_upload} %{time_total}"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("curl");
        drop(child.stdin.take().expect("its input").write_all(stdin));
        let output = child.wait_with_output().expect("curl's output");
        std::fs::remove_file(fields).expect("removed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split(' ').map(str::to_owned);
        let status = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let uploaded = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        Curl {
            status,
            uploaded,
            seconds,
            code: output.status.code(),
            head: std::fs::read_to_string(head).unwrap_or_default(),
            body: std::fs::read(body).unwrap_or_default(),
        }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        self.user.home.write(name, bytes)
    }

    /// Begins a connection of its own, with bytes as they are.
    fn dial(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.user.port)).expect("the bridge");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        stream.write_all(text.as_bytes()).expect("sent");
        stream
    }

    fn head(&self, line: &str, path: &str, version: &str, more: &str) -> String {
        let (port, session) = (self.user.port, &self.session);
        format!(
            "{line} /{HOST}{path} {version}\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {session}\r\n{more}\r\n"
        )
    }
}

struct Curl {
    status: u16,
    uploaded: usize,
    seconds: f64,
    code: Option<i32>,
    head: String,
    body: Vec<u8>,
}

impl Curl {
    fn header(&self, name: &str) -> Option<&str> {
        // The last head is the answer's; those before are of 1xx.
        let last = self.head.trim_end().rsplit("\r\n\r\n").next()?;
        let fields = last.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

fn all(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer that ends");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn parts_of_files_are_what_was_asked_for_and_a_download_is_resumed() {
    Wire::tell(|wire| {
        for url in wire.ways("/files/big.zip") {
            // 1. The whole, and what HEAD says of it.
            let whole = wire.curl(&url, &[]);
            assert!(whole.status == 200 && whole.body == wire.content, "{}", whole.head);
            let etag = whole.header("ETag").expect("a tag").to_owned();
            let head = wire.curl(&url, &["--head"]);
            assert_eq!((head.status, head.header("Content-Length")), (200, Some(SIZE.to_string().as_str())));
            // 2. One range, the end, several, one beyond the end.
            let part = wire.curl(&url, &["-r", "100-199"]);
            assert_eq!((part.status, part.body.as_slice()), (206, &wire.content[100..200]));
            assert_eq!(part.header("Content-Range"), Some(format!("bytes 100-199/{SIZE}").as_str()));
            let end = wire.curl(&url, &["-r", "-17"]);
            assert_eq!((end.status, end.body.as_slice()), (206, &wire.content[SIZE - 17..]));
            let several = wire.curl(&url, &["-r", "0-9,500-509"]);
            assert!(several.header("Content-Type").is_some_and(|kind| kind.starts_with("multipart/byteranges")));
            let has = |bytes: &[u8]| several.body.windows(bytes.len()).any(|window| window == bytes);
            assert!(several.status == 206 && has(&wire.content[0..10]) && has(&wire.content[500..510]));
            assert_eq!(wire.curl(&url, &["-r", "9999999-"]).status, 416);
            // 3. If-Range, and what is there already.
            let if_range = |tag: &str| wire.curl(&url, &["-r", "0-9", "-H", &format!("If-Range: {tag}")]).status;
            assert_eq!((if_range(&etag), if_range("\"other\"")), (206, 200));
            let same = wire.curl(&url, &["-H", &format!("If-None-Match: {etag}")]);
            assert_eq!((same.status, same.body.len(), same.header("ETag")), (304, 0, Some(etag.as_str())));
            // 4. A download that broke off in the middle goes on.
            let half = wire.file("half.zip", &wire.content[..SIZE / 2]);
            let resumed = wire.curl(&url, &["-C", "-", "-o", &half.display().to_string()]);
            assert_eq!(resumed.status, 206);
            assert!(std::fs::read(&half).expect("the file") == wire.content, "whole again");
        }
    });
}

#[test]
fn packed_files_stay_packed_and_say_so() {
    Wire::tell(|wire| {
        for url in wire.ways("/files/packed.tgz") {
            let answer = wire.curl(&url, &["-H", "Accept-Encoding: gzip, br"]);
            assert_eq!((answer.status, answer.header("Content-Encoding")), (200, Some("gzip")));
            assert!(answer.body == wire.content, "byte for byte");
        }
        // The upstream of files hears what the client can read; that of an API is asked for what can be read on the way.
        let [api, capability] =
            wire.ways("/files/big.zip").map(|url| wire.curl(&url, &["--head", "-H", "Accept-Encoding: br"]));
        assert_eq!((api.header("X-Seen"), capability.header("X-Seen")), (Some("identity||"), Some("br||")));
    });
}

#[test]
fn uploads_ask_first_when_they_want_and_see_the_no_before_they_send() {
    Wire::tell(|wire| {
        let (fits, large) = (wire.file("fits", &wire.content), wire.file("large", &vec![7; 8 << 20]));
        let put = |file: &PathBuf, name: &str, expect: &str| {
            wire.curl(&wire.api(&format!("/uploads/{name}")), &["-T", &file.display().to_string(), "-H", expect])
        };
        let stored =
            |name: &str| std::fs::read(wire.company.registry.site().join("uploads").join(name)).unwrap_or_default();
        // 1. With and without asking, and in chunks.
        for (name, expect) in [("asked", "Expect: 100-continue"), ("straight", "Expect:")] {
            let answer = put(&fits, name, expect);
            assert_eq!((answer.status, answer.uploaded), (201, SIZE), "{name}: {}", answer.head);
            assert!(stored(name) == wire.content, "{name}");
            assert_eq!(answer.head.contains("100 Continue"), name == "asked", "{}", answer.head);
        }
        let chunked = wire.curl_with(&wire.api("/uploads/chunked"), &["-T", "-"], &wire.content);
        assert!(chunked.status == 201 && stored("chunked") == wire.content, "{}", chunked.head);
        // 2. Too large: who asked sends nothing, who did not sees the answer all the same.
        let refused = put(&large, "large", "Expect: 100-continue");
        assert_eq!((refused.status, refused.uploaded), (413, 0), "{}", refused.head);
        assert!(refused.seconds < 5.0, "{}", refused.seconds);
        let refused = put(&large, "large", "Expect:");
        assert_eq!(refused.status, 413, "curl ends with {:?}: {}", refused.code, refused.head);
        // 3. The bridge's own no comes before the body as well.
        let stranger = wire.curl(
            &wire.api("/uploads/x").replace(HOST, "other.corp.example"),
            &["-T", &fits.display().to_string(), "-H", "Expect: 100-continue"],
        );
        assert_eq!((stranger.status, stranger.uploaded), (401, 0), "{}", stranger.head);
    });
}

#[test]
fn trailers_reach_who_takes_them_and_old_clients_get_whole_answers() {
    let wire = Wire::of("1h");
    let ask = |version: &str, more: &str| all(wire.dial(&wire.head("GET", "/trailed/big.zip", version, more)));
    // 1. With TE the trailer comes; without, the same body ends without one.
    let answer = ask("HTTP/1.1", "TE: trailers\r\nConnection: close, TE\r\n");
    let lower = answer.to_lowercase();
    assert!(
        lower.contains("transfer-encoding: chunked") && lower.ends_with("\r\n0\r\nx-sum: -\r\n\r\n"),
        "{}",
        tail(&answer)
    );
    let answer = ask("HTTP/1.1", "Connection: close\r\n");
    assert!(answer.ends_with("\r\n0\r\n\r\n") && !answer.to_lowercase().contains("x-sum: -"), "{}", tail(&answer));
    // 2. HTTP/1.0 knows neither chunks nor keeping a connection.
    let answer = ask("HTTP/1.0", "");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.0 200") && !head.to_lowercase().contains("chunked"), "{head}");
    assert_eq!(body, String::from_utf8_lossy(&wire.content));
    wire.user.canary.check(&wire.user.home);
}

fn tail(text: &str) -> String {
    let from = text.char_indices().rev().nth(80).map_or(0, |(at, _)| at);
    text.get(from..).unwrap_or_default().to_owned()
}

#[test]
fn requests_that_are_sent_ahead_are_answered_in_turn_on_one_connection() {
    Wire::tell(|wire| {
        let before = wire.company.registry.requests().len();
        let one = |path: &str| wire.head("GET", path, "HTTP/1.1", "");
        let download = "/v1/modules/corp/files/aws/1.0.0/download?of=/files/big.zip";
        // Answers without a body stand between those that have one.
        let text = [
            one("/v1/modules/corp/network/aws/versions"),
            one(download),
            wire.head("HEAD", "/files/big.zip", "HTTP/1.1", ""),
            one("/v1/modules/corp/nothing/aws/versions"),
            one(download),
            wire.head("GET", "/v1/modules/corp/network/aws/versions", "HTTP/1.1", "Connection: close\r\n"),
        ];
        let answers = all(wire.dial(&text.concat()));
        let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3)).collect();
        assert_eq!(statuses, ["200", "204", "200", "404", "204", "200"], "{answers}");
        assert_eq!(wire.company.registry.wait_for_requests(before + 6).len(), before + 6);
    });
}

#[test]
fn a_client_that_goes_away_frees_the_registry_at_once() {
    Wire::tell(|wire| {
        // 1. In the middle of a download that would take half a minute, and of an upload.
        let mut download = wire.dial(&wire.head("GET", "/slow/big.zip", "HTTP/1.1", ""));
        let upload = wire.dial(&wire.head("PUT", "/uploads/half", "HTTP/1.1", "Content-Length: 1000000\r\n"));
        assert_eq!(download.read(&mut [0; 64]).expect("it has begun"), 64);
        (&upload).write_all(&[7; 5000]).expect("sent");
        std::thread::sleep(Duration::from_millis(300));
        // 2. nginx writes a line when a request has ended.
        let ended = |path: &str| wire.company.registry.requests().iter().any(|one| one.path == path);
        assert!(!ended("/slow/big.zip") && !ended("/uploads/half"));
        let start = Instant::now();
        drop((download, upload));
        wait_until("both have ended", || ended("/slow/big.zip") && ended("/uploads/half"));
        assert!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
        assert!(!wire.company.registry.site().join("uploads/half").exists());
    });
}

#[test]
fn a_download_goes_on_when_its_certificate_ends_and_what_comes_after_has_another() {
    let wire = Wire::of("4s");
    let mut download =
        wire.dial(&wire.head("GET", "/slow/big.zip", "HTTP/1.1", "Range: bytes=0-1599999\r\nConnection: close\r\n"));
    assert_eq!(download.read(&mut [0; 12]).expect("it has begun"), 12);
    let ask = || wire.curl(&wire.api("/v1/modules/corp/network/aws/versions"), &[]).status;
    let minted = wire.company.pki.minted();
    wait_until("a second certificate is minted", || ask() == 200 && wire.company.pki.minted() > minted);
    assert!(!wire.company.registry.requests().iter().any(|one| one.path == "/slow/big.zip"), "it still goes on");
    let mut rest = Vec::new();
    download.read_to_end(&mut rest).expect("the rest");
    assert!(rest.ends_with(&wire.content[1_599_000..1_600_000]), "{} bytes", rest.len());
    let seen = wire.company.registry.requests();
    let serial = |path: &str| seen.iter().rev().find(|one| one.path.ends_with(path)).map(|one| one.serial.clone());
    assert!(serial("big.zip").is_some() && serial("big.zip") != serial("versions"), "{seen:?}");
    wire.user.canary.check(&wire.user.home);
}
