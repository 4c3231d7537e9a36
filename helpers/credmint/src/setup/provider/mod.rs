//! `credmint setup provider NAME`: lets AWS SDKs, Google's libraries, kubectl, vault, gh, git or docker ask credmint.
//! The name of a provider comes in; the file of that client is changed, and shown before that, or what to write is printed.
//! Finds out everything first: when something is in the way, nothing is changed at all.

mod aws;
mod clients;
mod docker;
mod edit;
mod git;
mod github;
mod google;
mod ini;
mod json_text;
mod kubeconfig;
mod kubernetes;
mod program;
mod vault;

use clap::Args;
use credmint_settings::{Issuer, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname};

use super::change::Change;
use super::{Mood, carry_out};
use crate::{enrol, out};
use clients::Client;

/// `credmint setup provider`.
#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// Name of a [provider.NAME] table of the settings.
    #[arg(value_name = "NAME")]
    name: String,
    /// Who is going to ask [default: by the issuer, where it tells].
    #[arg(long = "for", value_name = "CLIENT")]
    client: Option<Client>,
    /// With --for google: full name of the provider in Google's pool [default: that of the settings' issuer of kind `google-sts`].
    #[arg(long, value_name = "AUDIENCE")]
    audience: Option<String>,
    /// With --for google: email address of the service account that is impersonated.
    #[arg(long, value_name = "EMAIL")]
    service_account: Option<String>,
    /// Print what belongs into the file, to write it by hand; change nothing.
    #[arg(long, conflicts_with_all = ["remove", "dry_run"])]
    print: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Show what would change and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take back what an earlier run added for this provider.
    #[arg(long)]
    remove: bool,
}

/// What somebody wants to be set up.
struct Wanted<'a> {
    /// Name of the provider.
    name: &'a str,
    /// Word of the client.
    client: &'static str,
    /// Its hosts.
    hosts: &'a [Hostname],
    /// Its issuer.
    issuer: Option<&'a Issuer>,
    /// All of the settings.
    settings: &'a Settings,
    /// Audience that was given.
    audience: Option<&'a str>,
    /// Service account that was given.
    service_account: Option<&'a str>,
    /// Whether what an earlier run added is taken out.
    remove: bool,
    /// Whether it is only printed: then no file is looked at.
    print: bool,
}

/// What is to be done for one client.
#[derive(Default)]
struct Plan {
    /// What people should know beside it.
    notes: Vec<String>,
    /// In the order in which they are made.
    changes: Vec<Change>,
    /// The same as text, for people who write it themselves.
    by_hand: String,
    /// What is said at the end.
    next: Vec<String>,
}

/// Runs the verb.
pub(super) fn run(arguments: &ProviderArguments) -> Result<(), Failure> {
    let settings = enrol::settings()?;
    let name = arguments.name.strip_prefix("provider/").unwrap_or(&arguments.name);
    let provider = settings.providers.get(name);
    // Its table may have gone before what was set up for it.
    if provider.is_none() && !(arguments.remove && arguments.client.is_some()) {
        return Err(unknown(name, &settings));
    }
    let issuer = provider.and_then(|provider| settings.issuers.get(&provider.host.issuer));
    let client = arguments.client.or_else(|| Client::of(issuer?)).ok_or_else(|| who(name))?;
    let hosts = provider.map(|provider| provider.hosts.as_slice()).unwrap_or_default();
    let wanted = Wanted {
        name,
        client: client.word(),
        hosts,
        issuer,
        settings: &settings,
        audience: arguments.audience.as_deref(),
        service_account: arguments.service_account.as_deref(),
        remove: arguments.remove,
        print: arguments.print,
    };
    let plan = client.plan(&wanted)?;
    if arguments.print {
        out::text(&plan.by_hand);
        return Ok(());
    }
    plan.notes.iter().for_each(|note| out::text(&format!("note: {note}")));
    let mood = Mood { yes: arguments.yes, dry_run: arguments.dry_run };
    let goes_on = (plan.changes.is_empty() && client.is_told_only()) || carry_out(&plan.changes, mood)?;
    if goes_on && !arguments.remove {
        out::text(&plan.next.join("\n"));
    }
    Ok(())
}

fn unknown(name: &str, settings: &Settings) -> Failure {
    let known = settings.providers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let hint = if known.is_empty() {
        format!("add a table [provider.{name}] with identity and issuer")
    } else {
        format!("the settings have these: {known}")
    };
    Failure::new(FailureKind::Settings, format!("the settings have no provider/{name}")).hint(hint)
}

fn who(name: &str) -> Failure {
    let what = format!("the issuer of provider/{name} does not tell who is going to ask for its token");
    Failure::new(FailureKind::Usage, what)
        .hint(format!("credmint setup provider {name} --for git (or docker, google, kubernetes, vault, github)"))
}
