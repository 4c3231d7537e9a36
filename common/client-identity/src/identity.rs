//! One identity object: private key, certification path and validity, verified as a pair and swapped as one.
//! The issuer's answer and what was asked of it come in; the identity and the differences go out.
//! Touches nothing; the time is a parameter. RFC 5280; design §4.6.

use std::fmt;

use credmint_vocabulary::{Secret, Timestamp, printable};
use x509_parser::prelude::X509Certificate;

use crate::bundle::Bundle;
use crate::certificate::{self, Usage};
use crate::difference::{self, Asked, Difference};
use crate::names::Names;
use crate::path::{self, Path};
use crate::pem::{self, PemError};
use crate::private_key::PrivateKey;

/// How far our clock may be behind the issuer's.
const SKEW: u64 = 120;

/// Holds a key and the path that certifies it.
pub struct ClientIdentity {
    key: PrivateKey,
    path: Vec<Vec<u8>>,
    anchor: Option<Vec<u8>>,
    not_before: Timestamp,
    not_after: Timestamp,
    serial: String,
    subject: String,
    names: Names,
}

/// Says why what the issuer sent is no identity for us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// No certificate in the text.
    #[error("the issuer's answer has no certificate")]
    Missing,
    /// Something that claims to be one, and is not.
    #[error("a certificate in the issuer's answer cannot be read")]
    Unreadable,
    /// More than anybody needs.
    #[error("the issuer's answer has more certificates than a certification path can have")]
    TooLarge,
    /// For another key.
    #[error("the certificate is for another key than the one in the request")]
    KeyMismatch,
    /// For other uses.
    #[error("the certificate is not for client authentication: its extended key usage leaves clientAuth out")]
    NotForClients,
    /// Over already.
    #[error("the certificate expired at {not_after}")]
    Expired {
        /// When.
        not_after: Timestamp,
    },
    /// Not yet.
    #[error("the certificate is valid only in {seconds} s: this machine's clock is behind the issuer's")]
    NotYetValid {
        /// By how much our clock is behind.
        seconds: u64,
    },
    /// A chain certificate bears the issuer's name, but did not sign.
    #[error("the certification path is broken: the certificate named {issuer} did not sign what bears its name")]
    BadLink {
        /// The issuer of our certificate.
        issuer: String,
    },
}

impl ClientIdentity {
    /// Puts an identity together from what an issuer sent, in any order, and checks it against what was asked.
    ///
    /// # Errors
    /// The first reason why it must not be used.
    pub fn assemble(
        key: PrivateKey,
        certificate_pem: &str,
        chain_pem: &[String],
        asked: &Asked,
        now: Timestamp,
    ) -> Result<(Self, Vec<Difference>), AssembleError> {
        Self::of(key, decode(certificate_pem)?, decode_all(chain_pem)?, asked, now)
    }

    /// Puts an identity together from one bundle, in any order, and checks it against what was asked.
    ///
    /// # Errors
    /// The first reason why it must not be used.
    pub fn assemble_bundle(
        key: PrivateKey,
        bundle: Bundle,
        asked: &Asked,
        now: Timestamp,
    ) -> Result<(Self, Vec<Difference>), AssembleError> {
        Self::of(key, bundle.into_der(), Vec::new(), asked, now)
    }

    fn of(
        key: PrivateKey,
        own: Vec<Vec<u8>>,
        pool: Vec<Vec<u8>>,
        asked: &Asked,
        now: Timestamp,
    ) -> Result<(Self, Vec<Difference>), AssembleError> {
        let (leaf_der, rest) = own_certificate(own, &key)?;
        let pool: Vec<Vec<u8>> = rest.into_iter().chain(pool).collect();
        let leaf = certificate::read(&leaf_der).ok_or(AssembleError::Unreadable)?;
        let others = pool.iter().map(|der| certificate::read(der)).collect::<Option<Vec<_>>>();
        let others = others.ok_or(AssembleError::Unreadable)?;

        let mut differences: Vec<_> = check_usage(&leaf)?.into_iter().collect();
        let broken = |_| AssembleError::BadLink { issuer: certificate::name(leaf.issuer()) };
        let found = path::above(&leaf, &others).map_err(broken)?;
        let (not_before, not_after) = shared_validity(&leaf, &others, &found);
        differences.extend(check_validity(not_before, not_after, now)?);
        differences.extend(compare(&leaf, asked));
        differences.extend(missing_issuer(&leaf, &found));

        let take = |at: &usize| pool.get(*at).cloned();
        let identity = Self {
            not_before,
            not_after,
            serial: certificate::serial(&leaf),
            subject: certificate::name(leaf.subject()),
            names: Names::of(&leaf),
            anchor: found.anchor.as_ref().and_then(take),
            path: std::iter::once(leaf_der.clone()).chain(found.above.iter().filter_map(take)).collect(),
            key,
        };
        Ok((identity, differences))
    }

    /// Lends the path that is presented: our certificate first, the trust anchor left out.
    #[must_use]
    pub fn certificates_der(&self) -> &[Vec<u8>] {
        &self.path
    }

    /// Copies the private key, for a renewal that keeps it.
    #[must_use]
    pub fn key_copied(&self) -> PrivateKey {
        self.key.copied()
    }

    /// Lends the private key (PKCS #8 DER).
    #[must_use]
    pub fn key_der(&self) -> &Secret<Vec<u8>> {
        self.key.pkcs8_der()
    }

    /// Writes that path as PEM.
    #[must_use]
    pub fn certificate_pem(&self) -> String {
        pem::write_certificates(&self.path)
    }

    /// Writes the private key as PEM.
    #[must_use]
    pub fn private_key_pem(&self) -> Secret<String> {
        self.key.pkcs8_pem()
    }

    /// Writes the trust anchor as PEM, if the issuer sent it.
    #[must_use]
    pub fn anchor_pem(&self) -> Option<String> {
        self.anchor.as_ref().map(|der| pem::write_certificates([der]))
    }

    /// Lends the trust anchor (DER), if the issuer sent it.
    #[must_use]
    pub fn anchor_der(&self) -> Option<&[u8]> {
        self.anchor.as_deref()
    }

    /// Gives the time from which every certificate of the path is valid.
    #[must_use]
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// Gives the time at which the first certificate of the path ends.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Gives the serial number as colon-separated hex.
    #[must_use]
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// Gives the subject for people.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Gives the names that were granted.
    #[must_use]
    pub fn names(&self) -> Names {
        self.names.clone()
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientIdentity({}, serial {}, until {})", printable(&self.subject, 80), self.serial, self.not_after)
    }
}

fn decode(text: &str) -> Result<Vec<Vec<u8>>, AssembleError> {
    let error = |error| match error {
        PemError::TooLarge => AssembleError::TooLarge,
        PemError::Unreadable => AssembleError::Unreadable,
    };
    pem::certificates(text).map_err(error)
}

fn decode_all(texts: &[String]) -> Result<Vec<Vec<u8>>, AssembleError> {
    if texts.len() > 32 {
        return Err(AssembleError::TooLarge);
    }
    Ok(texts.iter().map(|text| decode(text)).collect::<Result<Vec<_>, _>>()?.concat())
}

/// Picks the certificate that is for our key, wherever it stands; the rest goes to the pool.
fn own_certificate(mut all: Vec<Vec<u8>>, key: &PrivateKey) -> Result<(Vec<u8>, Vec<Vec<u8>>), AssembleError> {
    if all.is_empty() {
        return Err(AssembleError::Missing);
    }
    let public = key.subject_public_key_info();
    let mut own = None;
    for (at, der) in all.iter().enumerate() {
        let certificate = certificate::read(der).ok_or(AssembleError::Unreadable)?;
        own = own.or_else(|| certificate::is_for(&certificate, &public).then_some(at));
    }
    let leaf = all.swap_remove(own.ok_or(AssembleError::KeyMismatch)?);
    Ok((leaf, all))
}

fn check_usage(leaf: &X509Certificate<'_>) -> Result<Option<Difference>, AssembleError> {
    match certificate::usage(leaf) {
        Usage::ClientAuth => Ok(None),
        Usage::Any => Ok(Some(Difference::UsageAny)),
        Usage::Unnamed => Ok(Some(Difference::UsageMissing)),
        Usage::Others => Err(AssembleError::NotForClients),
    }
}

/// Gives the time in which all of the presented path is valid.
fn shared_validity(leaf: &X509Certificate<'_>, pool: &[X509Certificate<'_>], path: &Path) -> (Timestamp, Timestamp) {
    let above = path.above.iter().filter_map(|at| pool.get(*at)).map(certificate::validity);
    above.fold(certificate::validity(leaf), |(start, end), (from, until)| (start.max(from), end.min(until)))
}

fn check_validity(
    not_before: Timestamp,
    not_after: Timestamp,
    now: Timestamp,
) -> Result<Option<Difference>, AssembleError> {
    if not_after <= now {
        return Err(AssembleError::Expired { not_after });
    }
    match not_before.remaining(now).as_secs() {
        0 => Ok(None),
        seconds @ 1..=SKEW => Ok(Some(Difference::ClockBehind { seconds })),
        seconds => Err(AssembleError::NotYetValid { seconds }),
    }
}

fn compare(leaf: &X509Certificate<'_>, asked: &Asked) -> Vec<Difference> {
    let (not_before, not_after) = certificate::validity(leaf);
    let mut all = difference::of_names(&asked.names, &Names::of(leaf));
    all.extend(difference::of_life(asked.ttl, not_before, not_after));
    all
}

fn missing_issuer(leaf: &X509Certificate<'_>, path: &Path) -> Option<Difference> {
    let alone = path.above.is_empty() && path.anchor.is_none() && !certificate::is_self_issued(leaf);
    alone.then(|| Difference::IssuerMissing { issuer: certificate::name(leaf.issuer()) })
}

#[cfg(test)]
mod tests;
