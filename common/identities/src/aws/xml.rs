//! Reads single texts out of an XML answer: well-formed to its end, without a document type, not deep.
//! A body and the names of an element and its parent come in, the text goes out as a secret.
//! Expands no entity but the five of XML itself and characters by number. <https://www.w3.org/TR/xml/>

use credmint_vocabulary::Secret;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use zeroize::Zeroizing;

/// Deepest nesting; the answers of STS have four levels.
const DEEPEST: usize = 16;

/// Finds the text of the first `name` in a `parent`; `None` also when the body is no XML.
#[must_use]
pub fn text(body: &[u8], parent: &str, name: &str) -> Option<Secret<String>> {
    let mut reader = Reader::from_str(std::str::from_utf8(body).ok()?);
    let mut open: Vec<String> = Vec::new();
    // As long as all of it: it never grows, so that no copy stays behind.
    let mut text = Zeroizing::new(String::with_capacity(body.len()));
    let mut found = None;
    loop {
        let here = found.is_none() && is_below(&open, parent, name);
        match reader.read_event().ok()? {
            // Neither has a part of its own in the text of another.
            Event::Start(_) | Event::Empty(_) if here => return None,
            Event::Start(element) if open.len() < DEEPEST => open.push(element.local_name().as_ref().to_owned()),
            Event::Start(_) | Event::DocType(_) => return None,
            Event::End(_) if here => {
                found = Some(Secret::from(text.trim()));
                open.pop();
            }
            Event::End(_) => drop(open.pop()),
            Event::Text(part) if here => text.push_str(&part),
            Event::CData(part) if here => text.push_str(&part),
            Event::GeneralRef(part) if here => match part.resolve_char_ref().ok()? {
                Some(character) => text.push(character),
                None => text.push_str(resolve_predefined_entity(&part)?),
            },
            Event::Eof => return found.filter(|_| open.is_empty()),
            _ => {}
        }
    }
}

fn is_below(open: &[String], parent: &str, name: &str) -> bool {
    matches!(open, [.., above, last] if above == parent && last == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<String> {
        text(body.as_bytes(), "Credentials", "Key").map(|text| text.expose().clone())
    }

    #[test]
    fn the_text_of_an_element_in_its_parent_is_found() {
        let body = "<?xml version='1.0'?><R xmlns='https://sts.example/'><Key>no</Key><Credentials><Other/>\n<Key> a+b/c== \
                    </Key></Credentials><Credentials><Key>second</Key></Credentials></R>\n";
        assert_eq!(read(body).as_deref(), Some("a+b/c=="));
        let prefixed = "<s:R xmlns:s='u'><s:Credentials><s:Key><![CDATA[<x>]]></s:Key></s:Credentials></s:R>";
        assert_eq!(read(prefixed).as_deref(), Some("<x>"));
        assert_eq!(read("<Credentials><Key>a&amp;b&#x2B;&#43;</Key></Credentials>").as_deref(), Some("a&b++"));
    }

    #[test]
    fn what_is_half_or_expands_is_nothing() {
        for body in [
            "",
            "{\"Key\":\"a\"}",
            "<Credentials><Key>a</Key>",
            "<Credentials><Key>a",
            "<Credentials><Key>a</Credentials></Key>",
            "<Credentials><Key>a</Key></Credentials><",
            "<!DOCTYPE a><Credentials><Key>a</Key></Credentials>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><Credentials><Key>&b;</Key></Credentials>",
            "<Credentials><Key>&b;</Key></Credentials>",
            "<Credentials><Key>a<i>b</i></Credentials>",
        ] {
            assert_eq!(read(body), None, "{body}");
        }
        let deep = "<a>".repeat(100_000);
        assert_eq!(read(&deep), None);
        let not_utf8 = [b"<Credentials><Key>".as_slice(), &[0xff], b"</Key></Credentials>"].concat();
        assert!(text(&not_utf8, "Credentials", "Key").is_none());
    }
}
