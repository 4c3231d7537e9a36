//! Provider mirrors, for Terraform that cannot reach one itself: the bridge is the registry, and the mirror is what it knows.
//! A registry's question comes in, the mirror's documents are read with its credential, a registry's answer goes out.
//! Serves only the registries that a run names for a mirror. `protocol-spec/bridge-protocol.md` §10.

mod asked;
mod check_sum;
mod documents;
mod open_pgp;
mod reading;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::rc::Rc;

use bytes::Bytes;
use credmint_local_machine::clock;
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use http::{HeaderValue, Response, StatusCode, header};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use url::Url;

use super::forward::refused;
use super::reply::{self, Body};
use super::rewrite::Rewriter;
use crate::recipe::Recipe;
pub(super) use asked::Asked;
use asked::What;
use documents::{Archive, Package};
use open_pgp::Signer;
pub(super) use reading::Reading;

/// A mirror of a run.
pub(crate) struct Mirror {
    /// Its host's route.
    pub(crate) recipe: Rc<Recipe>,
    /// Where its documents begin.
    pub(crate) base: Url,
    /// The registries that it stands for.
    pub(crate) registries: Vec<Hostname>,
}

/// Holds the mirrors of a run, and what was made for them.
#[derive(Default)]
pub(super) struct Mirrors {
    all: Vec<Mirror>,
    signer: OnceCell<Signer>,
    /// Check sums that the mirror does not tell, by the address of the archive.
    sums: RefCell<BTreeMap<String, String>>,
}

impl Mirrors {
    /// Takes the mirrors of a run.
    pub(super) fn of(all: Vec<Mirror>) -> Self {
        Self { all, ..Self::default() }
    }

    /// Finds the mirror at a host that stands for a registry.
    pub(super) fn find(&self, hostname: &Hostname, registry: &Hostname) -> Option<&Mirror> {
        self.all.iter().find(|mirror| mirror.recipe.name == *hostname && mirror.registries.contains(registry))
    }

    /// Lists the registries that they stand for, each with the route of its mirror.
    pub(super) fn registries(&self) -> impl Iterator<Item = (&Hostname, &Rc<Recipe>)> {
        self.all.iter().flat_map(|mirror| mirror.registries.iter().map(|registry| (registry, &mirror.recipe)))
    }

    async fn signer(&self) -> Result<&Signer, Failure> {
        let make = async || {
            let now = u32::try_from(clock::now().unix()).unwrap_or_default();
            spawn_blocking(move || Signer::make(now)).await.unwrap_or_else(|_| Err(refused("no key could be made")))
        };
        self.signer.get_or_try_init(make).await
    }

    /// Tells the SHA-256 of an archive: as the mirror says; or read from the archive, which must then be one of several.
    async fn sum(&self, reading: &Reading<'_>, told: &[String], archive: Option<&Url>) -> Result<String, Failure> {
        if let [sum] = told {
            return Ok(sum.clone());
        }
        let archive = archive.ok_or_else(|| untold(reading.hostname()))?;
        let known = self.sums.borrow().get(archive.as_str()).cloned();
        let sum = match known {
            Some(sum) => sum,
            None => check_sum::of(reading, archive).await?,
        };
        self.sums.borrow_mut().insert(archive.to_string(), sum.clone());
        if told.is_empty() || told.contains(&sum) { Ok(sum) } else { Err(another(reading.hostname())) }
    }
}

/// Answers a registry's question with what the mirror says.
pub(super) async fn answer(
    mirrors: &Mirrors,
    reading: &Reading<'_>,
    asked: &Asked,
    mut rewriter: Rewriter<'_>,
) -> Result<Response<Body>, Failure> {
    let document = match reading.document(rewriter.base.clone()).await? {
        Ok((url, document)) => {
            rewriter.base = url;
            document
        }
        Err(status) => return Ok(empty(status)),
    };
    let malformed = || no_document(reading.hostname());
    match &asked.what {
        What::Versions => documents::versions(&document.bytes).map(json).ok_or_else(malformed),
        What::Package { version, os, arch } => {
            let found = documents::archive(&document.bytes, os, arch).ok_or_else(malformed)?;
            // Reading a sum may take long, and needs none of it.
            drop(document);
            let Some(archive) = found else { return Ok(empty(StatusCode::NOT_FOUND)) };
            let file = format!("terraform-provider-{}_{version}_{os}_{arch}.zip", asked.kind);
            package(mirrors, reading, &rewriter, &archive, (os, arch, &file)).await.map(json)
        }
    }
}

/// Describes a package as a registry does: the sum of its archive, signed.
async fn package(
    mirrors: &Mirrors,
    reading: &Reading<'_>,
    rewriter: &Rewriter<'_>,
    archive: &Archive,
    (os, arch, file): (&str, &str, &str),
) -> Result<Vec<u8>, Failure> {
    let own = rewriter.ours(&archive.url);
    let sum = mirrors.sum(reading, &archive.sums(), own.as_ref()).await?;
    let signer = mirrors.signer().await?;
    let document = format!("{sum}  {file}\n");
    let signature = signer.sign(document.as_bytes())?;
    let elsewhere = || rewriter.base.join(&archive.url).map_err(|_| no_document(reading.hostname()));
    let package = Package {
        os,
        arch,
        file,
        archive: match own {
            Some(url) => rewriter.file(url)?,
            None => elsewhere()?.to_string(),
        },
        sum: &sum,
        sums: rewriter.made(document.into(), "SHA256SUMS")?,
        signature: rewriter.made(signature.into(), "SHA256SUMS.sig")?,
        key_id: signer.key_id(),
        key: signer.armored_key(),
    };
    Ok(package.json())
}

fn json(document: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(reply::body(document));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(reply::body(Bytes::new()));
    *response.status_mut() = status;
    response
}

fn no_document(mirror: &impl Display) -> Failure {
    Failure::new(FailureKind::Refused, format!("{mirror} answers with what is no document of a provider mirror"))
        .hint("is the url of network_mirror right? it ends in a slash")
}

fn untold(mirror: &impl Display) -> Failure {
    let what = format!("the mirror {mirror} tells no SHA-256 (zh:) of this package, and keeps it on another host");
    Failure::new(FailureKind::Refused, what).hint("let the mirror's document have a zh: hash for it")
}

fn another(mirror: &impl Display) -> Failure {
    Failure::new(FailureKind::Refused, format!("the archive at the mirror {mirror} is none of those its hashes are of"))
        .hint("make the mirror's document again: terraform providers mirror")
}
