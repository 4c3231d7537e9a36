//! Platforms that are asked for a token each time, as fakes on loopback: each takes exactly the request that its documentation and clients have.
#![expect(clippy::unwrap_used, reason = "this is a test")]

#[path = "../../issuers/tests/fakes/fake.rs"]
mod fake;

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_https::Https;
use credmint_identities::{Caller, IdentityError, SubjectToken, absence, ask, identity_reads};
use credmint_settings::{Identity, Platform, Workload};
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};

use fake::{Fake, Said, Seen, said};

/// A platform, what it answers to a request that is as it should be, and what a job has.
struct Case {
    platform: fn() -> Platform,
    marker: &'static str,
    /// A variable, what goes before it and what comes after the fake's address in it.
    place: (&'static str, &'static str),
    others: &'static [(&'static str, &'static str)],
    method: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    word: &'static str,
    hint: &'static str,
}

const CASES: &[Case] = &[
    Case {
        platform: || Platform::GithubActions,
        marker: "GITHUB_ACTIONS",
        place: ("ACTIONS_ID_TOKEN_REQUEST_URL", "/run/token?api-version=2.0&x=a%20b"),
        others: &[("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "pass-canary")],
        method: "GET",
        path: "/run/token?api-version=2.0&x=a%20b&audience=https%3A%2F%2Fvault.corp.example%2F%26+x",
        headers: &[("authorization", "Bearer pass-canary"), ("accept", "application/json")],
        body: "",
        word: "value",
        hint: "id-token: write",
    },
    Case {
        platform: || Platform::AzureDevops { service_connection: "0a&b".into() },
        marker: "TF_BUILD",
        place: ("SYSTEM_OIDCREQUESTURI", "/org/_apis/distributedtask/oidctoken"),
        others: &[("SYSTEM_ACCESSTOKEN", "pass-canary")],
        method: "POST",
        path: "/org/_apis/distributedtask/oidctoken?api-version=7.1&serviceConnectionId=0a%26b",
        headers: &[
            ("authorization", "Bearer pass-canary"),
            ("x-tfs-fedauthredirect", "Suppress"),
            ("content-length", "0"),
        ],
        body: "",
        word: "oidcToken",
        hint: "System.AccessToken",
    },
    Case {
        platform: || Platform::Buildkite,
        marker: "BUILDKITE",
        place: ("BUILDKITE_AGENT_ENDPOINT", "/v3/"),
        others: &[("BUILDKITE_JOB_ID", "0190-ab"), ("BUILDKITE_AGENT_ACCESS_TOKEN", "pass-canary")],
        method: "POST",
        path: "/v3/jobs/0190-ab/oidc/tokens",
        headers: &[("authorization", "Token pass-canary"), ("content-type", "application/json")],
        body: r#"{"audience":"https://vault.corp.example/& x"}"#,
        word: "token",
        hint: "agent's variables",
    },
];

const AUDIENCE: &str = "https://vault.corp.example/& x";

impl Case {
    fn identity(&self) -> Identity {
        Identity::Workload(Workload { platform: (self.platform)(), audience: Some(AUDIENCE.to_owned()) })
    }

    fn job(&self, address: &str) -> Caller {
        let (name, after) = self.place;
        let mut caller = set(&[(self.marker, "true"), (name, &format!("{address}{after}"))]);
        caller.environment.extend(set(self.others).environment);
        caller
    }

    /// Refuses whatever is not as it should be.
    fn is_asked(&self, seen: &Seen) -> bool {
        let same = |(name, value): &(&str, &str)| seen.headers.get(*name).is_some_and(|found| found == value);
        (seen.method.as_str(), seen.path.as_str(), seen.body.as_str()) == (self.method, self.path, self.body)
            && self.headers.iter().all(same)
    }
}

fn set(values: &[(&str, &str)]) -> Caller {
    let mut caller = Caller::default();
    for (name, value) in values {
        caller.environment.insert((*name).to_owned(), Secret::from(*value));
    }
    caller
}

fn token(audience: &str, end: u64) -> String {
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let claims = serde_json::json!({ "aud": audience, "exp": end, "sub": "job" }).to_string();
    format!("{}.{}.c2ln", part(r#"{"alg":"none"}"#.to_owned()), part(claims))
}

async fn asked(identity: &Identity, caller: &Caller) -> Result<Option<SubjectToken>, IdentityError> {
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(10));
    ask(identity, caller, &Https::new("test"), Timestamp::from_unix(1_000), deadline).await
}

/// What is told where a platform answers something else than a token.
async fn told(case: &Case, answer: impl Fn() -> Said + Send + Sync + 'static) -> (IdentityError, String, usize) {
    let fake = Fake::start(move |_| answer()).await;
    let error = asked(&case.identity(), &case.job(&fake.address)).await.unwrap_err();
    let text = format!("{error} {error:?} {:?}", error.hint());
    assert!(!text.contains("canary") && !text.contains('?'), "{text}");
    (error, text, fake.paths().len())
}

#[tokio::test]
async fn each_platform_is_asked_by_its_own_rules_and_each_time_anew_sebt_559() {
    for case in CASES {
        let answered = |seen: &Seen| {
            if case.is_asked(seen) {
                said(200, serde_json::json!({ case.word: token(AUDIENCE, 2_000), "count": 1 }).to_string())
            } else {
                said(400, "canary")
            }
        };
        let fake = Fake::start(answered).await;
        let caller = case.job(&fake.address);
        let reads = identity_reads(&case.identity());
        assert!(caller.environment.keys().all(|name| reads.environment.contains(name)), "{}", case.marker);
        for _ in 0..2 {
            let found = asked(&case.identity(), &caller).await;
            assert!(found.as_ref().is_ok_and(Option::is_some), "{}: {found:?} {:?}", case.marker, fake.seen());
        }
        assert_eq!(fake.seen().len(), 2, "{}: a token is good for one exchange", case.marker);
    }
}

#[tokio::test]
async fn elsewhere_it_is_absent_and_a_job_that_may_not_ask_is_told_what_to_write() {
    for case in CASES {
        assert!(asked(&case.identity(), &Caller::default()).await.unwrap().is_none(), "{}", case.marker);
        assert!(asked(&case.identity(), &set(&[(case.marker, "")])).await.unwrap().is_none(), "{}", case.marker);
        assert!(absence(&case.identity(), &Caller::default()).to_string().ends_with(" is not set"));
        let error = asked(&case.identity(), &set(&[(case.marker, "true")])).await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("{} is set, and ", case.marker)), "{error}");
        assert!(error.hint().unwrap().contains(case.hint), "{:?}", error.hint());
        let half = set(case.others.get(..1).unwrap());
        assert!(asked(&case.identity(), &half).await.unwrap_err().to_string().contains("is set, and "));
    }
}

#[tokio::test]
async fn a_refusal_a_redirect_and_nonsense_are_told_by_host_and_status_alone() {
    for case in CASES {
        let (error, text, _) = told(case, || said(403, r#"{"message":"canary"}"#)).await;
        assert!(text.contains("gave no token: status 403") && error.kind() == FailureKind::Refused, "{text}");
        let (error, text, _) = told(case, || said(503, "canary").header("retry-after", "7")).await;
        assert!(text.contains("status 503") && error.kind() == FailureKind::Unreachable, "{text}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        let (_, text, asked) = told(case, || said(302, "canary").header("location", "/canary")).await;
        assert!(text.contains("status 302") && asked == 1, "{text}");
        for nonsense in ["<html>canary", "{}", r#"{"value":null}"#, r#"{"token":""}"#, r#"{"oidcToken":7}"#] {
            let (_, text, _) = told(case, move || said(200, nonsense)).await;
            assert!(text.contains("answered without a token in it"), "{nonsense}: {text}");
        }
        assert!(told(case, || said(200, "x".repeat(2_000_000))).await.2 == 1, "more than any token has");
    }
}

#[tokio::test]
async fn tokens_that_nobody_would_take_are_sent_nowhere() {
    for case in CASES {
        let answer = |token: String| serde_json::json!({ case.word: token }).to_string();
        for (token, why) in [
            (token("somebody", 2_000), "is for"),
            (token(AUDIENCE, 999), "expired at"),
            ("opaque-canary".to_owned(), "no JWT"),
        ] {
            let body = answer(token);
            let (_, text, _) = told(case, move || said(200, body.clone())).await;
            assert!(text.contains(why), "{text}");
        }
    }
}

#[tokio::test]
async fn a_pass_is_sent_over_tls_or_to_this_machine_only() {
    for case in CASES {
        for address in ["http://platform.corp.example", "http://169.254.169.254", "ftp://127.0.0.1", "no address"] {
            let error = asked(&case.identity(), &case.job(address)).await.unwrap_err();
            assert!(!error.to_string().contains("canary"), "{address}: {error}");
            assert_ne!(error.kind(), FailureKind::Unreachable, "{address}: {error}");
        }
    }
    let mut caller = set(&[("BUILDKITE_JOB_ID", "../../x"), ("BUILDKITE_AGENT_ACCESS_TOKEN", "t")]);
    let buildkite = CASES.last().unwrap().identity();
    assert_eq!(asked(&buildkite, &caller).await.unwrap_err().to_string(), "BUILDKITE_JOB_ID is no identifier");
    caller.environment.insert("BUILDKITE_JOB_ID".into(), Secret::from("1"));
    caller.environment.insert("BUILDKITE_AGENT_ACCESS_TOKEN".into(), Secret::from("a\nb"));
    let error = asked(&buildkite, &caller).await.unwrap_err();
    assert_eq!(error.to_string(), "BUILDKITE_AGENT_ACCESS_TOKEN holds no token");
}

#[tokio::test]
async fn an_address_is_taken_as_it_stands_or_not_at_all() {
    for case in CASES {
        let fake = Fake::start(|_| said(200, "{}")).await;
        for odd in ["/\nX-Evil: 1", "/\r\n", " ", "/\\@192.0.2.1/", "/\t"] {
            let caller = case.job(&format!("{}{odd}", fake.address));
            let error = asked(&case.identity(), &caller).await.unwrap_err();
            assert!(error.to_string().ends_with(" is no address"), "{} {odd:?}: {error}", case.marker);
        }
        assert!(fake.paths().is_empty(), "{}", case.marker);
    }
}
