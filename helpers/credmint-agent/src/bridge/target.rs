//! What a request line means: which host, and whether a session or a capability gives the right to it.
//! `/<hostname>/<upstream path>` or `/<hostname>/.cap/<secret>/<file name>` comes in, a target goes out.
//! Pure. `protocol-spec/bridge-protocol.md`, Path layout.

use credmint_vocabulary::Hostname;
use http::Uri;

use super::mirror::Asked;

/// Says what a path asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An API of the host; the session token is in the header.
    Api {
        /// Host of the route.
        hostname: Hostname,
        /// Path and query at the upstream.
        path_and_query: String,
    },
    /// A file; the right to it is in the path.
    Capability {
        /// Host of the route.
        hostname: Hostname,
        /// The secret segment.
        segment: String,
    },
    /// What a provider registry would be asked, of a mirror.
    Mirror {
        /// Host of the mirror.
        hostname: Hostname,
        /// The question.
        asked: Asked,
    },
}

/// Which of Terraform's clients is asking: they print different things of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// Prints the status line as it is.
    Modules,
    /// Replaces the text of 401 and 403 by its own.
    Providers,
    /// Reads a JSON:API, prints the status line, but has words of its own for 401 and 404.
    Remote,
    /// Archives and the like: prints the status line.
    Files,
}

impl Target {
    /// Reads a request target; `None` when it names no host.
    pub(super) fn of(uri: &Uri) -> Option<Self> {
        let (host, rest) = uri.path().strip_prefix('/')?.split_once('/')?;
        let hostname = Hostname::from_comparison_form(host).ok()?;
        if let Some(capability) = rest.strip_prefix(CAPABILITY) {
            let segment = capability.split('/').next().unwrap_or_default().to_owned();
            return Some(Self::Capability { hostname, segment });
        }
        if let Some(asked) = rest.strip_prefix(MIRROR) {
            return Asked::of(asked).map(|asked| Self::Mirror { hostname, asked });
        }
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        Some(Self::Api { hostname, path_and_query: format!("/{rest}{query}") })
    }

    /// Gives the host.
    pub(super) fn hostname(&self) -> &Hostname {
        match self {
            Self::Api { hostname, .. } | Self::Capability { hostname, .. } | Self::Mirror { hostname, .. } => hostname,
        }
    }

    /// Tells which client asks, by the path that its service has.
    pub(super) fn asker(&self) -> Asker {
        match self {
            Self::Capability { .. } => Asker::Files,
            Self::Mirror { .. } => Asker::Providers,
            Self::Api { path_and_query, .. } if has_segment(path_and_query, "providers") => Asker::Providers,
            Self::Api { .. } => Asker::Modules,
        }
    }
}

/// Tells whether a path has a segment of this name.
pub(super) fn has_segment(path: &str, segment: &str) -> bool {
    path.split('?').next().unwrap_or(path).split('/').any(|part| part == segment)
}

/// Begins the path of a capability URL, after the hostname.
pub(super) const CAPABILITY: &str = ".cap/";
/// Begins the path of what a mirror stands for, after the hostname.
const MIRROR: &str = ".mirror/";

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::recipe::Recipe;
    use std::rc::Rc;

    pub(crate) fn recipe() -> Rc<Recipe> {
        recipe_at("https://127.0.0.1:8443")
    }

    pub(in crate::bridge) fn recipe_at(upstream: &str) -> Rc<Recipe> {
        recipe_with(upstream, "")
    }

    pub(in crate::bridge) fn recipe_with(upstream: &str, more: &str) -> Rc<Recipe> {
        let text = format!(
            "{more}[issuer.lab]\nkind = \"local-ca\"\ncommon_name = \"demo\"\n\
             [host.\"registry.corp.example\"]\nissuer = \"lab\"\nupstream = \"{upstream}\"\n"
        );
        let settings = credmint_settings::read(&[("test".into(), text)]).expect("valid");
        let hostname = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        Rc::new(
            Recipe::new(hostname.into(), Rc::new(settings), Default::default(), &Default::default()).expect("routed"),
        )
    }

    fn target(uri: &str) -> Option<Target> {
        Target::of(&uri.parse().expect("a URI"))
    }

    #[test]
    fn an_api_path_keeps_its_query() {
        let target = target("/registry.corp.example/v1/modules/a/b/c/versions?x=1").expect("a target");
        assert_eq!(target.asker(), Asker::Modules);
        let Target::Api { hostname, path_and_query } = target else { panic!("an API path") };
        assert_eq!(
            (hostname.as_str(), path_and_query.as_str()),
            ("registry.corp.example", "/v1/modules/a/b/c/versions?x=1")
        );
    }

    #[test]
    fn providers_are_told_from_modules() {
        assert_eq!(target("/a.example/v1/providers/x/y/versions").map(|t| t.asker()), Some(Asker::Providers));
        assert_eq!(target("/a.example/v1/modules/x?y=/providers/").map(|t| t.asker()), Some(Asker::Modules));
    }

    #[test]
    fn a_capability_is_one_segment() {
        let Some(Target::Capability { segment, .. }) = target("/a.example/.cap/SECRET/network-1.0.0.zip") else {
            panic!("a capability")
        };
        assert_eq!(segment, "SECRET");
    }

    #[test]
    fn a_path_without_a_host_is_no_target() {
        for uri in ["/", "/favicon.ico", "/HOST.example/v1/", "//v1/", "*"] {
            assert!(target(uri).is_none(), "{uri}");
        }
    }
}
