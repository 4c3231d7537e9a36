//! Certificates out of PKCS #7: the "certs-only" message that certification authorities answer with.
//! BER or DER comes in, the certificates in it go out, byte for byte as they stood there.
//! Touches nothing and verifies nothing: a certs-only message has no signer. RFC 5652 §3, §5.1; RFC 8951 §3.

use x509_parser::asn1_rs::{Any, Class, FromBer, Oid, Tag};

/// `signedData` (RFC 5652 §5.1).
const SIGNED_DATA: &[u64] = &[1, 2, 840, 113_549, 1, 7, 2];
/// How many members of a message stand before its certificates: version, digest algorithms, content.
const BEFORE_CERTIFICATES: usize = 3;
/// Bounds the members of one sequence: more certificates than that nobody needs.
const MOST: usize = 64;

/// Gives the certificates of a `SignedData`; `None` when it is none. A message without certificates gives an empty list.
pub(crate) fn certificates(message: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (rest, outer) = Any::from_ber(message).ok()?;
    let outer = members(&outer).filter(|_| rest.is_empty() && outer.tag() == Tag::Sequence)?;
    let [kind, content] = outer.as_slice() else { return None };
    if !is_signed_data(kind) || !is_numbered_0(content) {
        return None;
    }
    let signed = members(content)?;
    let [signed] = signed.as_slice() else { return None };
    let inside = members(signed).filter(|_| signed.tag() == Tag::Sequence)?;
    let numbered = inside.get(BEFORE_CERTIFICATES).filter(|member| is_numbered_0(member));
    match numbered {
        Some(set) => encoded(set.data),
        None => Some(Vec::new()),
    }
}

fn is_signed_data(kind: &Any<'_>) -> bool {
    let signed_data = Oid::from(SIGNED_DATA).ok();
    kind.clone().oid().ok().is_some_and(|oid| Some(oid) == signed_data)
}

fn is_numbered_0(value: &Any<'_>) -> bool {
    value.class() == Class::ContextSpecific && value.tag().0 == 0
}

/// Tells the mark behind a value of indefinite length (X.690 §8.1.5).
fn is_end(value: &Any<'_>) -> bool {
    value.class() == Class::Universal && value.tag() == Tag::EndOfContent
}

/// Gives the values within a constructed one.
fn members<'a>(of: &Any<'a>) -> Option<Vec<Any<'a>>> {
    let (mut rest, mut all) = (of.data, Vec::new());
    while !rest.is_empty() && all.len() < MOST {
        let (after, value) = Any::from_ber(rest).ok()?;
        if is_end(&value) {
            break;
        }
        all.push(value);
        rest = after;
    }
    Some(all)
}

/// Cuts values that stand one after another out, with their heads; only sequences can be certificates.
fn encoded(mut rest: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    while !rest.is_empty() && all.len() < MOST {
        let (after, value) = Any::from_ber(rest).ok()?;
        if is_end(&value) {
            break;
        }
        let length = rest.len().checked_sub(after.len())?;
        let own = rest.get(..length)?;
        // Other members of the set are attribute certificates and the like, which are numbered.
        if value.tag() == Tag::Sequence && value.class() == Class::Universal {
            all.push(own.to_vec());
        }
        rest = after;
    }
    Some(all)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes a value in DER.
    pub(crate) fn value(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len().to_be_bytes();
        let length: Vec<u8> = length.into_iter().skip_while(|octet| *octet == 0).collect();
        let head = match content.len() {
            0..=127 => vec![tag, content.len() as u8],
            _ => [&[tag, 0x80 | length.len() as u8], length.as_slice()].concat(),
        };
        [head.as_slice(), content].concat()
    }

    /// Puts certificates into a certs-only message, as `openssl crl2pkcs7 -nocrl` does.
    pub(crate) fn message(certificates: &[Vec<u8>]) -> Vec<u8> {
        let data = value(0x30, &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1]);
        let set = value(0xa0, &certificates.concat());
        let signed = [value(2, &[1]), value(0x31, &[]), data, set, value(0x31, &[])].concat();
        let kind = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2];
        value(0x30, &[kind.as_slice(), &value(0xa0, &value(0x30, &signed))].concat())
    }

    fn two() -> Vec<Vec<u8>> {
        vec![value(0x30, &[2, 1, 5]), value(0x30, &[7; 300])]
    }

    #[test]
    fn certificates_come_out_as_they_stood_there_and_in_their_order() {
        assert_eq!(certificates(&message(&two())), Some(two()));
        assert_eq!(certificates(&message(&[])), Some(Vec::new()));
    }

    #[test]
    fn an_indefinite_length_is_read_as_well() {
        let inner = [message(&two())[4..].to_vec(), vec![0, 0]].concat();
        assert_eq!(certificates(&[&[0x30, 0x80], inner.as_slice()].concat()), Some(two()));
    }

    #[test]
    fn a_message_cut_off_anywhere_is_none() {
        let whole = message(&two());
        for length in 0..whole.len() {
            assert_eq!(certificates(&whole[..length]), None, "{length}");
        }
        assert_eq!(certificates(&[whole.as_slice(), &[0]].concat()), None);
    }

    #[test]
    fn other_messages_and_damaged_ones_never_panic() {
        let whole = message(&two());
        for at in 0..whole.len() {
            for flipped in [0x01, 0x20, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flipped;
                let _ = certificates(&damaged);
            }
        }
        let enveloped: Vec<u8> =
            whole.iter().enumerate().map(|(at, octet)| if at == 14 { 3 } else { *octet }).collect();
        assert_eq!(certificates(&enveloped), None, "enveloped data is no answer");
    }
}
