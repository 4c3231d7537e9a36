//! What the agent asks of its caller: the values of named environment variables and files.
//! Names come in, what was found goes out; absent is absent, unreadable is told in words.
//! Reads what is named and nothing else, strips nothing.

use std::path::Path;

use credmint_agent_protocol::{Need, Supply, WireSecret};
use credmint_vocabulary::Secret;
use zeroize::Zeroize;

use crate::environment;
use crate::files::read_bounded;
use crate::home::below_home;

/// Finds what the agent needs from this process's environment and files.
#[must_use]
pub fn supply(need: &Need) -> Supply {
    let mut found = Supply::default();
    for name in &need.environment {
        match environment::raw(name).map(std::ffi::OsString::into_string) {
            None => {}
            Some(Ok(value)) => drop(found.environment.insert(name.clone(), secret(value))),
            Some(Err(_)) => drop(found.unreadable.insert(name.clone(), "is not UTF-8 text".to_owned())),
        }
    }
    for name in &need.files {
        match read_text(name) {
            Ok(None) => {}
            Ok(Some(text)) => drop(found.files.insert(name.clone(), secret(text))),
            Err(why) => drop(found.unreadable.insert(name.clone(), why)),
        }
    }
    found
}

fn secret(text: String) -> WireSecret {
    WireSecret::from(Secret::new(text))
}

fn read_text(name: &str) -> Result<Option<String>, String> {
    let path = below_home(Path::new(name)).map_err(|error| format!("cannot be found: {error}"))?;
    let bytes = read_bounded(&path, MAXIMUM_FILE).map_err(|error| error.to_string())?;
    bytes.map(String::from_utf8).transpose().map_err(|error| {
        error.into_bytes().zeroize();
        "is not UTF-8 text".to_owned()
    })
}

/// Largest file that travels to the agent; the frame around it is no longer.
const MAXIMUM_FILE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_private;
    use crate::testing::EmptyDirectory;

    #[test]
    fn what_is_named_is_supplied_and_what_is_absent_stays_absent() {
        let home = EmptyDirectory::new();
        let [there, binary] = ["token", "binary"].map(|name| home.path().join(name).display().to_string());
        write_private(there.as_ref(), b"text\n").expect("writes");
        write_private(binary.as_ref(), b"\xff").expect("writes");
        let absent = home.path().join("absent").display().to_string();
        let directory = home.path().display().to_string();
        let environment = vec!["PATH".to_owned(), "CREDMINT_TEST_ABSENT".to_owned(), "A=B".to_owned(), String::new()];
        let files = vec![there.clone(), absent, binary.clone(), directory.clone()];
        let found = supply(&Need { environment, files });
        assert_eq!(found.environment.keys().collect::<Vec<_>>(), ["PATH"]);
        assert!(found.files.get(&there).is_some_and(|text| text.secret().same_as(b"text\n")));
        assert_eq!((found.files.len(), found.unreadable.len()), (1, 2));
        assert_eq!(found.unreadable.get(&binary).map(String::as_str), Some("is not UTF-8 text"));
        assert_eq!(found.unreadable.get(&directory).map(String::as_str), Some("is no regular file"));
    }
}
