//! What the settings say about one host so far, even if they are not complete yet.
//! The texts of the files come in, a few keys of the host and the first mistake go out.
//! Reads no file itself; `credmint-settings` decides what is right.

use credmint_settings::{Deliver, Settings, SettingsError, Store, read};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use toml::Table;

/// Holds what is known of the host.
pub(crate) struct HostSettings {
    /// `upstream`, and the file that says it.
    pub(crate) upstream: Option<(String, String)>,
    /// `issuer`.
    pub(crate) issuer: Option<String>,
    /// Whether Terraform gets the credential itself, so that nothing needs a bridge.
    pub(crate) without_bridge: bool,
    /// Who signs in for the host, where `terraform login` may do so.
    pub(crate) person: Option<String>,
    /// Whether other hosts need the helper although they have no `host` block.
    pub(crate) others_without_bridge: bool,
    /// `[bridge] port`.
    pub(crate) port: Option<u16>,
    /// Why the settings cannot be used yet.
    pub(crate) mistake: Option<SettingsError>,
    /// Whether a route names the host, and all is there.
    pub(crate) complete: bool,
}

impl HostSettings {
    /// Reads what there is; a file that is no TOML at all is a failure.
    pub(crate) fn of(host: &Hostname, files: &[(String, String)]) -> Result<Self, Failure> {
        let whole = read(files);
        let tables = files.iter().map(|(name, text)| Some((name.as_str(), text.parse::<Table>().ok()?)));
        let Some(tables) = tables.collect::<Option<Vec<_>>>() else {
            return Err(whole.err().map_or_else(|| internal("a settings file is no TOML"), |error| failure(&error)));
        };
        let text = |key: &str| find(&tables, &["host", host.as_str(), key]);
        let port = find(&tables, &["bridge", "port"]).and_then(|(_, port)| port.as_integer()?.try_into().ok());
        let settings = whole.as_ref().ok();
        Ok(Self {
            upstream: text("upstream").and_then(|(file, url)| Some((url.as_str()?.to_owned(), file.to_owned()))),
            issuer: text("issuer").and_then(|(_, issuer)| issuer.as_str().map(str::to_owned)),
            without_bridge: settings.map_or_else(
                || text("deliver").is_some_and(|(_, deliver)| deliver.as_str() != Some("bridge")),
                |settings| delivers_itself(settings, |name| name == host),
            ),
            person: settings.and_then(|settings| person(settings, host)),
            others_without_bridge: settings.is_some_and(|settings| delivers_itself(settings, |name| name != host)),
            port,
            complete: settings.is_some_and(|settings| settings.host_route(host).is_some()),
            mistake: whole.err(),
        })
    }
}

/// Checks the URL of an upstream as the settings would.
pub(crate) fn check_upstream(host: &Hostname, url: &str) -> Result<(), Failure> {
    let probe = format!(
        "[identity.x]\nkind = \"env\"\nvariable = \"X\"\n[issuer.x]\nkind = \"local-ca\"\n\
         [host.\"{host}\"]\nidentity = \"x\"\nissuer = \"x\"\nupstream = {}\n",
        toml::Value::from(url)
    );
    let wrong = |error: SettingsError| {
        let failure = Failure::new(FailureKind::Usage, format!("--upstream: {}", error.what));
        error.hint().into_iter().fold(failure, |failure, hint| failure.hint(hint))
    };
    read(&[("--upstream".to_owned(), probe)]).map(drop).map_err(wrong)
}

/// Puts a mistake in the settings into a failure.
pub(crate) fn failure(error: &SettingsError) -> Failure {
    let failure = Failure::new(FailureKind::Settings, error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn person(settings: &Settings, host: &Hostname) -> Option<String> {
    let route = settings.host_route(host).filter(|route| route.host.store != Store::Refuse)?;
    route.person().map(|(name, _)| name.to_owned())
}

fn internal(what: &str) -> Failure {
    Failure::new(FailureKind::Internal, what)
}

fn delivers_itself(settings: &Settings, is_meant: impl Fn(&Hostname) -> bool) -> bool {
    settings.hosts.iter().any(|(name, host)| is_meant(name) && host.deliver != Deliver::Bridge)
}

fn find<'a>(tables: &'a [(&'a str, Table)], path: &[&str]) -> Option<(&'a str, &'a toml::Value)> {
    tables.iter().find_map(|(file, table)| {
        let (last, tables) = path.split_last()?;
        let inner = tables.iter().try_fold(table, |table, name| table.get(*name)?.as_table())?;
        Some((*file, inner.get(*last)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> HostSettings {
        let host = Hostname::from_comparison_form("a.example").expect("a hostname");
        HostSettings::of(&host, &[("config.toml".into(), text.into())]).expect("TOML")
    }

    #[test]
    fn settings_that_are_not_complete_are_read_as_far_as_they_go() {
        let settings = of("[host.\"a.example\"]\nupstream = \"https://10.0.0.7\"\n[bridge]\nport = 7000\n");
        assert_eq!(settings.upstream, Some(("https://10.0.0.7".into(), "config.toml".into())));
        assert!(!settings.complete && settings.mistake.is_some() && !settings.without_bridge);
        assert_eq!((settings.port, settings.issuer), (Some(7_000), None));
    }

    #[test]
    fn a_host_that_gets_its_token_needs_no_bridge() {
        let text = "[identity.me]\nkind = \"env\"\nvariable = \"T\"\n[issuer.o]\nkind = \"oidc\"\n\
                    [host.\"a.example\"]\nidentity = [\"me\"]\nissuer = \"o\"\n";
        let settings = of(text);
        assert!(settings.complete && settings.without_bridge && !settings.others_without_bridge);
    }

    #[test]
    fn text_that_is_no_toml_is_a_failure_with_its_line() {
        let host = Hostname::from_comparison_form("a.example").expect("a hostname");
        let failure = HostSettings::of(&host, &[("c.toml".into(), "a = 1\nb =".into())]).err().expect("fails");
        assert!(failure.what.starts_with("c.toml:2"), "{}", failure.what);
    }

    #[test]
    fn an_upstream_is_checked_as_the_settings_do() {
        let host = Hostname::from_comparison_form("a.example").expect("a hostname");
        assert_eq!(check_upstream(&host, "https://10.0.0.7:8443"), Ok(()));
        for wrong in ["10.0.0.7", "ftp://x", "https://u:p@x", "http://10.0.0.7", "https://x/?a=1", "\"\n[x]"] {
            let failure = check_upstream(&host, wrong).expect_err(wrong);
            assert!(failure.kind == FailureKind::Usage && !failure.what.contains("u:p"), "{failure}");
        }
    }
}
