//! PEM in and out (RFC 7468).
//! Text comes in, DER goes out, and the other way round; a secret is written into memory that is wiped.
//! Touches nothing. Bounded: an issuer's answer is not trusted to be small.

use credmint_vocabulary::Secret;
use pem_rfc7468::LineEnding;
use x509_parser::pem::Pem;
use zeroize::Zeroizing;

/// Bounds the text of one PEM value: sixteen RSA 4096 certificates fit several times.
const LARGEST: usize = 256 * 1024;
/// Bounds the number of certificates in it.
const MOST: usize = 32;

/// Says why a text is not a list of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PemError {
    TooLarge,
    Unreadable,
}

/// Gives the DER of every certificate in the text, in its order; what is no `CERTIFICATE` is passed over.
pub(crate) fn certificates(text: &str) -> Result<Vec<Vec<u8>>, PemError> {
    if text.len() > LARGEST {
        return Err(PemError::TooLarge);
    }
    let mut found = Vec::new();
    for block in Pem::iter_from_buffer(text.as_bytes()) {
        let block = block.map_err(|_| PemError::Unreadable)?;
        if block.label == "CERTIFICATE" {
            found.push(block.contents);
        }
        if found.len() > MOST {
            return Err(PemError::TooLarge);
        }
    }
    Ok(found)
}

/// Writes certificates one after another.
pub(crate) fn write_certificates<'a>(all: impl IntoIterator<Item = &'a Vec<u8>>) -> String {
    let write = |der: &'a Vec<u8>| pem_rfc7468::encode_string("CERTIFICATE", LineEnding::LF, der).unwrap_or_default();
    all.into_iter().map(write).collect()
}

/// Decodes `PRIVATE KEY` without leaving a copy behind; `Err` gives the label that stood there, if any.
pub(crate) fn private_key(text: &str) -> Result<Secret<Vec<u8>>, Option<String>> {
    labelled("PRIVATE KEY", text)
}

/// Decodes `RSA PRIVATE KEY` (RFC 8017 §A.1.2) in the same way; `None` when it is none.
pub(crate) fn rsa_private_key(text: &str) -> Option<Secret<Vec<u8>>> {
    labelled("RSA PRIVATE KEY", text).ok()
}

fn labelled(wanted: &str, text: &str) -> Result<Secret<Vec<u8>>, Option<String>> {
    let text = text.trim_ascii().as_bytes();
    let label = pem_rfc7468::decode_label(text).map_err(|_| None)?;
    if text.len() > LARGEST || label != wanted {
        return Err(Some(label.to_owned()));
    }
    let mut room = Zeroizing::new(vec![0; text.len()]);
    let (_, der) = pem_rfc7468::decode(text, &mut room).map_err(|_| None)?;
    Ok(Secret::new(der.to_vec()))
}

/// Encodes `PRIVATE KEY` into one buffer of exactly the right size.
pub(crate) fn write_private_key(der: &[u8]) -> Secret<String> {
    const LABEL: &str = "PRIVATE KEY";
    let length = pem_rfc7468::encoded_len(LABEL, LineEnding::LF, der).unwrap_or_default();
    let mut room = Zeroizing::new(vec![0; length]);
    let text = pem_rfc7468::encode(LABEL, LineEnding::LF, der, &mut room).unwrap_or_default();
    Secret::from(text)
}
