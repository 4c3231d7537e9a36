//! Makes a server's error text fit to be shown: a server may repeat in it what we sent.
//! Text from a stranger comes in, one short line without anything that looks like a credential goes out.
//! Touches nothing.

use credmint_vocabulary::printable;

/// Longest text that is quoted.
const LIMIT: usize = 200;
/// Words of at least this many letters of the Base64 or hexadecimal alphabets are taken for keys.
const LONG: usize = 32;

/// Cuts a stranger's text to one line and replaces what looks like a credential.
#[must_use]
pub fn quotable(text: &str) -> String {
    let text = without_pem(text);
    let mut line = String::new();
    let mut word = String::new();
    for character in text.chars() {
        if is_part_of_a_token(character) {
            word.push(character);
        } else {
            push_word(&mut line, &word);
            word.clear();
            line.push(character);
        }
    }
    push_word(&mut line, &word);
    printable(&line, LIMIT)
}

/// Drops everything from the first `-----BEGIN` on: a message ends there for a reader.
fn without_pem(text: &str) -> String {
    match text.split_once("-----BEGIN") {
        Some((before, _)) => format!("{before}(PEM left out)"),
        None => text.to_owned(),
    }
}

fn is_part_of_a_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '+' | '/' | '=' | '~' | '%')
}

fn push_word(line: &mut String, word: &str) {
    line.push_str(if looks_secret(word) { "(left out)" } else { word });
}

/// Tells JWTs, Vault's tokens and long random words.
fn looks_secret(word: &str) -> bool {
    let vault = ["hvs.", "hvb.", "hvr.", "s.", "b.", "r."].iter().any(|prefix| {
        word.split_once(prefix).is_some_and(|(before, rest)| {
            !before.ends_with(|c: char| c.is_ascii_alphanumeric()) && rest.len() >= 16 && !rest.contains(['.', '/'])
        })
    });
    vault || has_jwt(word) || is_aws_secret(word) || word.split(['.', '/', '%', '=']).any(is_random)
}

/// Tells a secret access key of AWS, which has slashes in it, by its 40 characters; a session token, by many more.
fn is_aws_secret(word: &str) -> bool {
    word.split('=').any(|part| {
        let has = |kind: fn(&u8) -> bool| part.bytes().any(|byte| kind(&byte));
        (part.len() == 40 || part.len() > 120)
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(|byte| byte.is_ascii_digit() || *byte == b'+')
    })
}

/// Tells a JWT by its beginning, which is `{"` in Base64.
fn has_jwt(word: &str) -> bool {
    word.split_once("eyJ").is_some_and(|(_, rest)| rest.len() > 16 && rest.contains('.'))
}

/// Tells a long run that mixes letters and digits in a way that names and words do not. UUIDs count: AppRole's secrets are.
fn is_random(run: &str) -> bool {
    let has = |run: &str, kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    let mixed = |run: &str| has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic);
    let parts: Vec<_> = run.split(['-', '_']).collect();
    let solid = parts.iter().any(|part| part.len() >= 20 && mixed(part));
    let three_kinds = mixed(run) && has(run, u8::is_ascii_uppercase) && has(run, u8::is_ascii_lowercase);
    run.len() >= LONG && (solid || three_kinds || is_uuid(&parts))
}

fn is_uuid(parts: &[&str]) -> bool {
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::quotable;

    #[test]
    fn credentials_are_left_out() {
        for secret in [
            "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl",
            "hvs.CAESIJlN3CzVh0yRkZ1Ttoken",
            "s.N3CzVh0yRkZ1TtokenAbCd12",
            "b.AAAAAQL3CzVh0yRkZ1TtokenAbCd12",
            "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "5f9c3a52-7b51-4c39-9b62-0d5a1f0c8e11",
            "Zm9v-YmFy_0a1b2c3d4e5f-XYZ12345-aBcD",
        ] {
            assert_eq!(quotable(&format!("bad token \"{secret}\" seen")), "bad token \"(left out)\" seen", "{secret}");
            assert!(!quotable(&format!("token={secret}")).contains(secret), "{secret}");
        }
        assert_eq!(quotable("key -----BEGIN PRIVATE KEY-----\nMIG"), "key (PEM left out)");
    }

    #[test]
    fn what_a_person_needs_stays() {
        for text in [
            "error validating token: invalid audience (aud) claim: audience claim does not match any expected audience",
            "role \"terraform\" could not be found",
            "common name build.corp.example not allowed by this role",
            "URI spiffe://corp.example/ns/build/sa/runner-with-a-long-name is not allowed",
            "issuer https://keycloak.corp.example/realms/builders-of-things-2026 is not trusted",
            "host build-42-of-the-very-long-named-team-1.corp.example not allowed by this role",
            "TTL \"48h\" is larger than max_ttl of 1h. See https://docs.example/pki/roles.html",
        ] {
            assert_eq!(quotable(text), text);
        }
    }

    #[test]
    fn one_short_line_remains() {
        assert_eq!(quotable("a\nb\x1b[2Jc"), "a b [2Jc");
        assert_eq!(quotable(&"word ".repeat(100)).chars().count(), 201);
    }
}
