//! What is asked of a mirror in the words of a provider registry, and where the answer stands in the mirror.
//! The end of a path comes in, `<registry>/<namespace>/<type>/…`; the path of a document of the mirror goes out.
//! Pure. Provider Registry Protocol (`versions`, `download`) and Provider Network Mirror Protocol (`index.json`, `VERSION.json`).

use credmint_vocabulary::Hostname;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bridge) struct Asked {
    /// The registry that the mirror stands for.
    pub(in crate::bridge) registry: Hostname,
    /// Who made the provider.
    namespace: String,
    /// The provider.
    pub(super) kind: String,
    /// What is wanted of it.
    pub(super) what: What,
}

/// What is wanted of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Which versions there are.
    Versions,
    /// Where one is, for one platform.
    Package {
        /// Which.
        version: String,
        /// Operating system, as Go names it.
        os: String,
        /// Processor, as Go names it.
        arch: String,
    },
}

impl Asked {
    /// Reads it; `None` for everything else, and for names that are no names of providers.
    pub(in crate::bridge) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        let (registry, rest) = parts.split_first()?;
        if !rest.iter().all(|part| is_name(part)) {
            return None;
        }
        let (namespace, kind, what) = match rest {
            [namespace, kind, "versions"] => (namespace, kind, What::Versions),
            [namespace, kind, version, "download", os, arch] => {
                let [version, os, arch] = [version, os, arch].map(|part| (*part).to_owned());
                (namespace, kind, What::Package { version, os, arch })
            }
            _ => return None,
        };
        let registry = Hostname::from_comparison_form(registry).ok()?;
        Some(Self { registry, namespace: (*namespace).to_owned(), kind: (*kind).to_owned(), what })
    }

    /// Names the document of the mirror, below its base.
    pub(in crate::bridge) fn document(&self) -> String {
        let Self { registry, namespace, kind, what } = self;
        let name = match what {
            What::Versions => "index",
            What::Package { version, .. } => version,
        };
        format!("{registry}/{namespace}/{kind}/{name}.json")
    }
}

/// Tells what may be one segment of a path, whoever reads that: nothing that leads up, out, or is read as something else.
fn is_name(part: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    (1..=128).contains(&part.len()) && part.chars().all(is_of_name) && !part.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_questions_lead_to_their_documents() {
        let document = |path| Asked::of(path).map(|asked| asked.document());
        assert_eq!(
            document("registry.corp.example/corp/widget/versions").as_deref(),
            Some("registry.corp.example/corp/widget/index.json")
        );
        assert_eq!(
            document("registry.corp.example:8443/corp/widget/1.0.0-rc1+b/download/linux/amd64").as_deref(),
            Some("registry.corp.example:8443/corp/widget/1.0.0-rc1+b.json")
        );
    }

    #[test]
    fn everything_else_is_no_question() {
        for path in [
            "",
            "registry.corp.example",
            "registry.corp.example/corp/widget",
            "registry.corp.example/corp/widget/versions/",
            "registry.corp.example/../widget/versions",
            "registry.corp.example/corp/wid%2Fget/versions",
            "registry.corp.example//widget/versions",
            "REGISTRY.corp.example/corp/widget/versions",
            "registry.corp.example/corp/widget/1.0.0/download/linux",
            "registry.corp.example/corp/widget/1.0.0/upload/linux/amd64",
        ] {
            assert_eq!(Asked::of(path), None, "{path}");
        }
    }
}
