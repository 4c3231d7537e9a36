//! Where Terraform gets its providers: the methods of `provider_installation`, and which of them lead to a host of a run.
//! A CLI configuration in HCL comes in, its methods go out, in its order.
//! Touches nothing. Terraform `cliconfig/provider_installation.go`: the first block counts, and what it could not read either is left out.

use std::ops::Range;

use credmint_vocabulary::Hostname;

use super::state;
use crate::hcl::{self, Item, items};

/// The block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    /// From its first word to its end.
    pub(crate) span: Range<usize>,
    /// Its methods.
    pub(crate) methods: Vec<Method>,
}

/// One method.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Method {
    /// Where it leads.
    pub(crate) kind: Kind,
    /// Providers that it is for, as they are written; none: all.
    pub(crate) include: Vec<String>,
    /// Providers that it is not for.
    pub(crate) exclude: Vec<String>,
    /// From its first word to its end, in the text of the configuration.
    pub(crate) span: Range<usize>,
}

/// Where a method leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To the provider's own registry.
    Direct,
    /// To a directory of this machine, or to what no registry is asked for.
    Local,
    /// To a server that speaks the provider network mirror protocol.
    NetworkMirror {
        /// Its address.
        url: String,
    },
    /// To an OCI registry; `OpenTofu` alone.
    OciMirror {
        /// `repository_template`: a host, then a path with `${…}` in it.
        template: String,
    },
}

/// Reads the block of a configuration; `None` if there is none.
pub(crate) fn installation(text: &str) -> Option<Installation> {
    let found = items(text).ok()?;
    let block = found.into_iter().find(|item| item.words == ["provider_installation"] && !item.is_attribute)?;
    let body = block.body(text)?;
    let methods = items(body).ok()?;
    let methods = methods.iter().filter_map(|item| method(body, block.value.start + 1, item)).collect();
    Some(Installation { span: block.span, methods })
}

impl Method {
    /// Gives the host of a list that it leads to through the network, and the path there.
    pub(crate) fn led<'a, T>(&self, hosts: &'a [T], name: impl Fn(&T) -> &Hostname) -> Option<(&'a T, String)> {
        match &self.kind {
            Kind::NetworkMirror { url } => state::led(url, hosts, name),
            Kind::OciMirror { template } => {
                let (host, path) = template.split_once('/')?;
                let (host, _) = state::led(&format!("https://{host}/"), hosts, name)?;
                Some((host, format!("/{path}")))
            }
            Kind::Direct | Kind::Local => None,
        }
    }
}

fn method(body: &str, at: usize, item: &Item) -> Option<Method> {
    let [word] = item.words.as_slice() else { return None };
    if item.is_attribute {
        return None;
    }
    let inside = item.body(body)?;
    let kind = match word.as_str() {
        "direct" => Kind::Direct,
        "filesystem_mirror" | "dev_overrides" => Kind::Local,
        "network_mirror" => Kind::NetworkMirror { url: attribute(inside, "url").and_then(hcl::text)? },
        "oci_mirror" => Kind::OciMirror { template: attribute(inside, "repository_template").and_then(hcl::text)? },
        _ => return None,
    };
    let list = |name| attribute(inside, name).and_then(hcl::list).unwrap_or_default();
    let span = at + item.span.start..at + item.span.end;
    Some(Method { kind, include: list("include"), exclude: list("exclude"), span })
}

/// Finds the value of an attribute; names are compared as HCL 1 does, without regard to case.
fn attribute<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |item: &&Item| matches!(item.words.as_slice(), [word] if word.eq_ignore_ascii_case(name));
    let items = items(body).ok()?;
    body.get(items.iter().rfind(is_it)?.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::json;

    fn hosts() -> Vec<Hostname> {
        ["mirror.corp.example", "other.example:8443"]
            .map(|name| Hostname::from_comparison_form(name).expect(name))
            .into()
    }

    fn led(text: &str) -> Vec<(String, String)> {
        let (hosts, read) = (hosts(), installation(text).expect("a block"));
        let led = read.methods.iter().filter_map(|method| method.led(&hosts, |host| host));
        led.map(|(host, path)| (host.to_string(), path)).collect()
    }

    fn pair(host: &str, path: &str) -> (String, String) {
        (host.to_owned(), path.to_owned())
    }

    #[test]
    fn a_mirror_is_found_in_every_spelling() {
        for text in [
            "provider_installation {\n  network_mirror {\n    url = \"https://mirror.corp.example/p/\"\n  }\n}\n",
            "provider_installation { network_mirror { url = \"https://Mirror.corp.example:443/p/\" } direct {} }",
            "# x\nprovider_installation\n{ dev_overrides { \"a/b\" = \"/}\" }\n network_mirror { \"URL\" = \"https:\\u002f/mirror.corp.example/p/\" // }\n } }",
            "disable_checkpoint = true\n\"provider_installation\" { /* } */ \"network_mirror\" { include = [\"x/*/*\"], url = \"https://mirror.corp.example/p/\" } }",
        ] {
            assert_eq!(led(text), [pair("mirror.corp.example", "/p/")], "{text}");
        }
    }

    #[test]
    fn a_file_in_json_says_the_same() {
        for text in [
            r#"{"provider_installation":{"network_mirror":[{"url":"https:\/\/mirror.corp.example\/p\/","include":["a.example/*/*"]}],"direct":[{"exclude":["a.example/*/*"]}]}}"#,
            r#"{"provider_installation":[{"network_mirror":{"url":"https://mirror.corp.example/p/","include":["a.example/*/*"]},"direct":{}}]}"#,
        ] {
            let hcl = json::in_hcl(text).expect("an object");
            assert_eq!(led(&hcl), [pair("mirror.corp.example", "/p/")], "{hcl}");
            let include: Vec<_> = installation(&hcl).expect("a block").methods.into_iter().map(|m| m.include).collect();
            assert!(include.contains(&vec!["a.example/*/*".to_owned()]), "{include:?}");
        }
    }

    #[test]
    fn methods_are_told_apart_and_keep_their_patterns_order_and_place() {
        let text = "provider_installation {\n  filesystem_mirror { path = \"/m\" }\n  network_mirror {\n    url = \"https://other.example:8443\"\n    \
                    include = [\"*/*\", # all\n]\n    exclude = [\"x.example/*/*\"]\n  }\n  oci_mirror {\n    repository_template = \
                    \"mirror.corp.example/${namespace}/${type}\"\n  }\n  direct {}\n}\n";
        let read = installation(text).expect("a block");
        let kinds: Vec<_> = read.methods.iter().map(|method| &method.kind).collect();
        let network = Kind::NetworkMirror { url: "https://other.example:8443".to_owned() };
        let oci = Kind::OciMirror { template: "mirror.corp.example/${namespace}/${type}".to_owned() };
        assert_eq!(kinds, [&Kind::Local, &network, &oci, &Kind::Direct]);
        let network = read.methods.get(1).expect("the second");
        assert_eq!(
            (network.include.concat(), network.exclude.concat()),
            ("*/*".to_owned(), "x.example/*/*".to_owned())
        );
        let written = text.get(network.span.clone()).expect("its place");
        assert!(written.starts_with("network_mirror {") && written.ends_with("]\n  }"), "{written}");
        assert_eq!(led(text), [pair("other.example:8443", "/"), pair("mirror.corp.example", "/${namespace}/${type}")]);
    }

    #[test]
    fn only_the_first_block_counts_and_only_what_leads_to_a_host_of_the_run() {
        let block = |url: &str| format!("provider_installation {{\n  network_mirror {{ url = {url} }}\n}}\n");
        assert!(led(&(block("\"https://a.example/\"") + &block("\"https://mirror.corp.example/\""))).is_empty());
        for url in [
            "\"http://mirror.corp.example/\"",
            "\"https://mirror.corp.example.evil.example/\"",
            "\"https://me:pass@mirror.corp.example/\"",
            "\"https://mirror.corp.example:8443/\"",
            "7",
            "[]",
        ] {
            assert!(led(&block(url)).is_empty(), "{url}");
        }
        assert_eq!(installation("direct {}\nprovider_installation = {}\n# provider_installation {}"), None);
    }
}
