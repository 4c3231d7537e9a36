//! Upstreams of the bridge that mean harm: what they answer costs themselves, and neither the agent nor another host.

use credmint_faults::HOST;
use credmint_faults::bridge::Client;
use credmint_faults::fake::{Act, Fake};
use credmint_faults::raw;
use serde_json::json;

const DOWNLOAD: &str = "/v1/modules/corp/network/aws/1.0.0/download";
const JSON_API: &str = "application/vnd.api+json";

fn document(text: String) -> Act {
    Act::Answer(200, vec![("Content-Type".into(), JSON_API.into())], text.into_bytes())
}

#[test]
fn an_answer_that_nests_lists_without_end_does_not_end_the_agent() {
    let deep = 3 * 1024 * 1024;
    let text = format!(r#"{{"data":{}{}}}"#, "[".repeat(deep), "]".repeat(deep));
    let fake = Fake::always(document(text.clone()));
    let client = Client::of(&fake.address());
    let answer = client.ask("GET", "/api/v2/plans/p", &[("Accept", JSON_API)]);
    assert_eq!((answer.status, answer.body == text.as_bytes()), (200, true), "{}", answer.head);
    // The same agent, with the same session, goes on.
    fake.then(|_| Act::json(200, &json!({})));
    assert_eq!(client.get("/v1/modules/corp/network/aws/versions").status, 200);
    client.user.check();
}

#[test]
fn an_answer_that_names_addresses_without_end_is_none_and_takes_no_address_from_others() {
    let one = r#"{"attributes":{"upload-url":"/u"}}"#;
    let many = format!(r#"{{"data":[{}]}}"#, vec![one; 100_000].join(","));
    let fake = Fake::always(Act::status(204, "X-Terraform-Get", "/n.zip"));
    let client = Client::of(&fake.address());
    let archive = client.get(DOWNLOAD).header("X-Terraform-Get").expect("an address").to_owned();
    fake.then(move |_| document(many.clone()));
    for _ in 0..6 {
        let answer = client.ask("GET", "/api/v2/plans/p", &[("Accept", JSON_API)]);
        assert_eq!(answer.status, 502, "{}", answer.head);
        assert!(answer.status_line().contains("more than 1024 addresses"), "{}", answer.head);
    }
    assert!(archive.starts_with(&format!("http://127.0.0.1:{}/{HOST}/.cap/", client.user.port)), "{archive}");
    client.user.check();
}

#[test]
fn who_is_redirected_shows_the_upstream_no_address_of_ours_and_the_upstream_its_whole_query() {
    let fake = Fake::always(Act::status(204, "X-Terraform-Get", "/get/n.zip?archive=zip"));
    let client = Client::of(&fake.address());
    let port = client.user.port;
    // 1. A module's archive: what go-getter reads itself is not asked for.
    let archive = client.get(DOWNLOAD).header("X-Terraform-Get").expect("an address").to_owned();
    fake.then(|_| Act::status(302, "Location", "/blobs/n.zip?filename=n.zip&checksum=1&key=2"));
    let path = |address: &str| address.split_once(&format!(":{port}")).map(|(_, path)| path.to_owned());
    let first = raw::request(port, "GET", &path(&archive).expect("ours"), &[]);
    assert_eq!(first.status, 302, "{}", first.head);
    // 2. Where it is redirected Go's client says from where; the next address has the query that the upstream wrote.
    let next = first.header("Location").expect("an address").to_owned();
    fake.then(|_| Act::Answer(200, Vec::new(), b"archive".to_vec()));
    let fields = [("Referer", archive.as_str()), ("User-Agent", "go-getter")];
    assert_eq!(raw::request(port, "GET", &path(&next).expect("ours"), &fields).body, b"archive");
    let asked = fake.received();
    let paths: Vec<_> = asked.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, [DOWNLOAD, "/get/n.zip", "/blobs/n.zip?filename=n.zip&checksum=1&key=2"]);
    for one in &asked {
        assert!(!one.head.contains(".cap") && !one.head.contains(&port.to_string()), "{}", one.head);
    }
    assert!(asked.last().is_some_and(|last| last.head.contains("go-getter")), "all else is passed on");
    client.user.check();
}

#[test]
fn what_web_pages_ask_is_noted_nowhere() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let client = Client::of(&fake.address());
    let path = format!("/{HOST}/v1/modules/x");
    for (name, value) in
        [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Host", "evil.example")]
    {
        assert_eq!(raw::request(client.user.port, "GET", &path, &[(name, value)]).status, 401, "{name}");
    }
    let told = client.status();
    assert!(!told.contains("web browser") && !told.contains("another host"), "{told}");
    // A program of this machine without a session is: the person may have to know why.
    assert_eq!(raw::request(client.user.port, "GET", &path, &[]).status, 401);
    assert!(client.status().contains("its helper failed"), "{}", client.status());
    client.user.check();
}
