//! The SHA-256 of an archive whose mirror tells none, or several.
//! The address of an archive comes in, its sum goes out; the archive is read once, piece by piece, and not kept.
//! Touches nothing else. A mirror that `terraform providers mirror` made has `h1:` hashes alone, which no registry knows.

use std::fmt::Display;
use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use credmint_vocabulary::{Failure, FailureKind};
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::time::timeout;
use url::Url;

use super::reading::Reading;

/// Reads an archive through and gives its sum, in hexadecimal.
pub(super) async fn of(reading: &Reading<'_>, archive: &Url) -> Result<String, Failure> {
    let through = async {
        let (_, response) = reading.get(archive.clone(), LONGEST).await?;
        if response.status() != StatusCode::OK {
            return Err(absent(reading.hostname(), response.status()));
        }
        let (mut body, mut hash) = (response.into_body(), Context::new(&SHA256));
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| broken_off(reading.hostname()))?;
            frame.data_ref().iter().for_each(|data| hash.update(data));
        }
        Ok(hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    };
    timeout(LONGEST, through).await.unwrap_or_else(|_| Err(too_long(reading.hostname())))
}

fn absent(mirror: &impl Display, status: StatusCode) -> Failure {
    let what = format!("{mirror} answers {status} for an archive that its own document names");
    Failure::new(FailureKind::Refused, what).hint("make the mirror again: terraform providers mirror")
}

fn broken_off(mirror: &impl Display) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("{mirror} broke off an archive")).hint("run the command again")
}

fn too_long(mirror: &impl Display) -> Failure {
    let what = format!("an archive of {mirror} took longer than {} s to read for its SHA-256", LONGEST.as_secs());
    Failure::new(FailureKind::Unreachable, what).hint("let the mirror's document have a zh: hash for it")
}

/// Less than Terraform waits in a run that has a mirror.
const LONGEST: Duration = Duration::from_secs(110);
