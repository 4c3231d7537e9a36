//! What the bridge changes in an answer: the URLs that Terraform will ask for without a token, and nothing else.
//! An upstream's header or JSON answer comes in, the same with capability URLs goes out.
//! Never touches checksums, signatures, keys or file names (Terraform refuses providers without a valid signature).

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use url::Url;

use super::capability::{Capabilities, Capability, Use};
use super::head;
use super::json_api;
use super::run::RunNumber;
use super::target::CAPABILITY;
use crate::recipe::Recipe;

/// Knows all that a rewritten URL is made of.
pub(super) struct Rewriter<'a> {
    /// Where capabilities are kept.
    pub(super) capabilities: &'a Capabilities,
    /// Whose credential.
    pub(super) recipe: &'a Rc<Recipe>,
    /// URL of the answer, in the upstream's words: relative URLs are relative to it.
    pub(super) base: Url,
    /// Host and port by which the client reached us.
    pub(super) own: String,
    /// The run of `credmint exec` that is answered.
    pub(super) run: Option<RunNumber>,
    /// How many addresses were made for this answer.
    pub(super) given: Cell<usize>,
}

impl Rewriter<'_> {
    /// Rewrites the value of `X-Terraform-Get`: go-getter's address of an archive.
    pub(super) fn archive(&self, address: &str) -> Result<String, Failure> {
        let (url, inner) = split_inner_path(address);
        let Some(mut url) = self.ours(url) else { return Ok(address.to_owned()) };
        let own_query = take_getter_parameters(&mut url);
        Ok(format!("{}{inner}{own_query}", self.file(url)?))
    }

    /// Rewrites the three URLs of a provider package's description.
    pub(super) fn package(&self, json: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let Ok(mut object) = serde_json::from_slice::<Object>(json) else { return Ok(None) };
        for (key, value) in &mut object.0 {
            if URLS.contains(&key.as_str())
                && let Ok(url) = serde_json::from_str::<String>(value.get())
                && let Some(url) = self.ours(&url)
                && let Ok(new) = serde_json::value::to_raw_value(&self.file(url)?)
            {
                *value = new;
            }
        }
        Ok(serde_json::to_vec(&object).ok())
    }

    /// Gives a redirect's target in the bridge's words; `None` when it leads to another host.
    pub(super) fn location(&self, location: &str) -> Option<String> {
        let url = self.ours(location)?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        Some(format!("http://{}/{}{}{query}", self.own, self.recipe.name, url.path()))
    }

    /// Gives a URL that leads to the same host; `None` for other hosts and other schemes.
    pub(super) fn ours(&self, reference: &str) -> Option<Url> {
        ours(self.recipe, &self.base, reference)
    }

    /// Rewrites the addresses of logs, uploads and states.
    pub(super) fn json_api(&self, json: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        json_api::document(json, &|address, purpose| {
            let Some(url) = self.ours(address) else { return Ok(None) };
            // The upstream's own name for it may be a secret of its own, and is of no use to the client.
            let name = if purpose == Use::Log { "log" } else { "object" };
            self.give(url, purpose).map(|begin| Some(format!("{begin}/{name}")))
        })
    }

    /// Gives the address by which a client gets what stands at a URL of the host. Its query is the upstream's, all of it.
    pub(super) fn file(&self, url: Url) -> Result<String, Failure> {
        let name = url.path_segments().and_then(Iterator::last).unwrap_or_default().to_owned();
        Ok(format!("{}/{name}", self.give(url, Use::Download)?))
    }

    /// Gives an address for what we made ourselves.
    pub(super) fn made(&self, made: Bytes, name: &str) -> Result<String, Failure> {
        let to = Capability { made: Some(made), ..self.to(self.base.clone(), Use::Download) };
        Ok(format!("{}/{name}", self.address(to)?))
    }

    fn give(&self, mut url: Url, purpose: Use) -> Result<String, Failure> {
        // The user information would become Basic authentication at the client; the credential is ours to add.
        let _ = (url.set_username(""), url.set_password(None));
        self.address(self.to(url, purpose))
    }

    fn to(&self, url: Url, purpose: Use) -> Capability {
        Capability { recipe: Rc::clone(self.recipe), url, purpose, run: self.run, made: None }
    }

    fn address(&self, to: Capability) -> Result<String, Failure> {
        if self.given.replace(self.given.get() + 1) >= MOST_ADDRESSES {
            return Err(too_many(self.recipe.host()?));
        }
        let segment = self.capabilities.give(to, Instant::now())?;
        Ok(format!("http://{}/{}/{CAPABILITY}{}", self.own, self.recipe.name, segment.expose()))
    }
}

/// Gives a URL that leads to the host of a recipe, in the words of the bridge; `None` for other hosts and other schemes.
pub(crate) fn ours(recipe: &Recipe, base: &Url, reference: &str) -> Option<Url> {
    let mut url = base.join(reference).ok()?;
    let upstream = recipe.route().and_then(|route| route.host.upstream.as_deref()?.parse::<Url>().ok());
    let same = |other: &Url| url.scheme() == other.scheme() && url.origin() == other.origin();
    if !same(base) && !upstream.as_ref().is_some_and(same) {
        return None;
    }
    // The upstream's path prefix is put before every path again on the way out.
    let prefix = upstream.as_ref().map_or("", |upstream| upstream.path().trim_end_matches('/'));
    if let Some(rest) = url.path().strip_prefix(prefix).filter(|rest| rest.starts_with('/')).map(str::to_owned) {
        url.set_path(&rest);
    }
    // One that a server reads as leading out of that prefix is none of the host's.
    head::stays_below(url.path()).is_ok().then_some(url)
}

fn too_many(hostname: &Hostname) -> Failure {
    let what = format!("{hostname} names more than {MOST_ADDRESSES} addresses in one answer");
    Failure::new(FailureKind::Unreachable, what).hint("ask for fewer at once, if the program can")
}

/// Splits go-getter's `//inner/path` from an address, and puts it behind the file name again.
fn split_inner_path(address: &str) -> (&str, &str) {
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let end = address.find('?').unwrap_or(address.len());
    match address.get(after_scheme..end).and_then(|path| path.find("//")) {
        Some(at) if end == address.len() => address.split_at(after_scheme + at),
        _ => (address, ""),
    }
}

/// Takes out of a query what go-getter reads itself; those stay with the client, the rest with the upstream.
fn take_getter_parameters(url: &mut Url) -> String {
    let (own, theirs): (Vec<_>, Vec<_>) =
        url.query_pairs().into_owned().partition(|(key, _)| GETTER_PARAMETERS.contains(&key.as_str()));
    if own.is_empty() {
        return String::new();
    }
    let encode =
        |pairs: &[(String, String)]| url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    url.set_query((!theirs.is_empty()).then(|| encode(&theirs)).as_deref());
    format!("?{}", encode(&own))
}

/// A JSON object whose values stay as they were written, in the order in which they stood.
pub(super) struct Object(pub(super) Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A page of a hundred states has four hundred.
const MOST_ADDRESSES: usize = 1024;
const URLS: [&str; 3] = ["download_url", "shasums_url", "shasums_signature_url"];
const GETTER_PARAMETERS: [&str; 3] = ["archive", "checksum", "filename"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::target::tests::{recipe, recipe_at};

    fn with<T>(test: impl Fn(&Rewriter<'_>) -> T) -> T {
        with_recipe(recipe(), test)
    }

    fn with_recipe<T>(recipe: Rc<Recipe>, test: impl Fn(&Rewriter<'_>) -> T) -> T {
        let capabilities = Capabilities::default();
        let base = Url::parse("https://registry.corp.example/v1/modules/a/b/c/1.0.0/download").expect("valid");
        let own = "127.0.0.1:4000".into();
        test(&Rewriter { capabilities: &capabilities, recipe: &recipe, base, own, run: None, given: Cell::default() })
    }

    fn shape(url: &str) -> String {
        let (head, rest) = url.split_once("/.cap/").expect("a capability");
        let (secret, tail) = rest.split_once('/').expect("a file name");
        assert_eq!(secret.len(), 43, "256 bits");
        format!("{head}/.cap/S/{tail}")
    }

    #[test]
    fn an_archive_of_the_same_host_becomes_a_capability_with_its_extension() {
        for address in [
            "https://registry.corp.example/archives/n.zip",
            "/archives/n.zip",
            "../../../../../../archives/n.zip",
            "https://127.0.0.1:8443/archives/n.zip",
        ] {
            let url = with(|r| r.archive(address)).expect("rewritten");
            assert_eq!(shape(&url), "http://127.0.0.1:4000/registry.corp.example/.cap/S/n.zip", "{address}");
        }
    }

    #[test]
    fn a_path_prefix_of_the_upstream_is_not_put_before_a_path_twice() {
        for (reference, path) in [
            ("/art/archives/n.zip", "/archives/n.zip"),
            ("https://registry.corp.example/art/archives/n.zip", "/archives/n.zip"),
            ("https://127.0.0.1:8443/art/n.zip", "/n.zip"),
            ("../n.zip", "/v1/modules/a/b/c/n.zip"),
            ("/artful/n.zip", "/artful/n.zip"),
            ("/artful/../../n.zip", "/n.zip"),
        ] {
            let url = with_recipe(recipe_at("https://127.0.0.1:8443/art/"), |r| r.ours(reference)).expect("ours");
            assert_eq!(url.path(), path, "{reference}");
        }
        assert_eq!(with(|r| r.ours("/art/n.zip")).expect("ours").path(), "/art/n.zip");
        for up in
            ["/art/..%2fother/n.zip", "/x/%2e%2e%5cn.zip", "/art/..;/n.zip", "https://127.0.0.1:8443/art/..%252fn"]
        {
            assert_eq!(with_recipe(recipe_at("https://127.0.0.1:8443/art/"), |r| r.ours(up)), None, "{up}");
        }
    }

    #[test]
    fn go_getters_own_words_stay_with_the_client() {
        let url = with(|r| r.archive("https://registry.corp.example/n?archive=zip&key=1")).expect("rewritten");
        assert_eq!(shape(&url), "http://127.0.0.1:4000/registry.corp.example/.cap/S/n?archive=zip");
        let url = with(|r| r.archive("https://registry.corp.example/n.tgz//modules/x")).expect("rewritten");
        assert_eq!(shape(&url), "http://127.0.0.1:4000/registry.corp.example/.cap/S/n.tgz//modules/x");
    }

    #[test]
    fn a_query_of_a_package_stays_with_the_upstream_whatever_go_getter_would_read_in_it() {
        let capabilities = Capabilities::default();
        let (recipe, own) = (recipe(), "127.0.0.1:4000".to_owned());
        let base = Url::parse("https://registry.corp.example/v1/").expect("valid");
        let given = Cell::default();
        let rewriter = Rewriter { capabilities: &capabilities, recipe: &recipe, base, own, run: None, given };
        let asked_of = |address: &str| {
            let secret = address.split("/.cap/").nth(1).and_then(|rest| rest.split('/').next()).expect("a capability");
            capabilities.find(secret.as_bytes(), Instant::now()).expect("given").url.to_string()
        };
        let json = br#"{"download_url":"/get?filename=p.zip&archive=zip&checksum=1&key=2"}"#;
        let json = rewriter.package(json).expect("rewritten").expect("an object");
        let package: std::collections::BTreeMap<String, String> = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(
            asked_of(&package["download_url"]),
            "https://registry.corp.example/get?filename=p.zip&archive=zip&checksum=1&key=2"
        );
        let archive = rewriter.archive("/get?filename=p.zip&key=2").expect("rewritten");
        assert_eq!(asked_of(&archive), "https://registry.corp.example/get?key=2");
    }

    #[test]
    fn an_answer_has_so_many_addresses_and_no_more() {
        let package = |many| format!("{{{}}}", vec![r#""download_url":"/p.zip""#; many].join(","));
        let links = |many| {
            let one = r#"{"attributes":{"upload-url":"/u"}}"#;
            format!(r#"{{"data":[{}]}}"#, vec![one; many].join(","))
        };
        for (many, is_taken) in [(MOST_ADDRESSES, true), (MOST_ADDRESSES + 1, false)] {
            assert_eq!(with(|r| r.package(package(many).as_bytes())).is_ok(), is_taken, "{many}");
            assert_eq!(with(|r| r.json_api(links(many).as_bytes())).is_ok(), is_taken, "{many}");
        }
    }

    #[test]
    fn other_hosts_and_other_getters_are_left_alone() {
        for address in [
            "https://elsewhere.example/n.zip",
            "git::https://registry.corp.example/n.git",
            "s3::https://x/y",
            "http://registry.corp.example/n.zip",
            "https://registry.corp.example:444/n.zip",
        ] {
            assert_eq!(with(|r| r.archive(address)).expect("left"), address);
        }
    }

    #[test]
    fn a_package_keeps_everything_but_its_three_urls() {
        let json = br#"{"z":1.50,"download_url":"/p.zip","shasums_url":"/S","shasums_signature_url":"https://o.example/s","shasum":"a\u0062","signing_keys":{"b":1,"a":2}}"#;
        let out = with(|r| r.package(json)).expect("rewritten").expect("an object");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(
            text.starts_with(r#"{"z":1.50,"download_url":"http://127.0.0.1:4000/registry.corp.example/.cap/"#),
            "{text}"
        );
        assert!(
            text.ends_with(
                r#""shasums_signature_url":"https://o.example/s","shasum":"a\u0062","signing_keys":{"b":1,"a":2}}"#
            ),
            "{text}"
        );
    }

    #[test]
    fn a_redirect_stays_inside_or_is_told_apart() {
        assert_eq!(
            with(|r| r.location("/v2/x?y=1")),
            Some("http://127.0.0.1:4000/registry.corp.example/v2/x?y=1".into())
        );
        assert_eq!(with(|r| r.location("https://elsewhere.example/")), None);
    }
}
