//! Whether any settings file might name a host, without understanding the files.
//! A hostname comes in, yes or no goes out; in doubt it is yes, and the agent decides.
//! Keeps the public registries, which every `init` asks about, from any agent and any mistake in the settings. No network.

use credmint_vocabulary::Hostname;

use crate::files::read_bounded;
use crate::settings_files::{MAXIMUM_FILE, SettingsFiles};

/// Tells whether an agent could have an answer for this host; no settings file means no.
#[must_use]
pub fn could_route(hostname: &Hostname) -> bool {
    SettingsFiles::find().is_some_and(|files| could_name(&files, hostname))
}

/// Tells whether a settings file asks for a child for each request.
pub(crate) fn says_once() -> bool {
    let texts = SettingsFiles::find().map(|files| files.paths()).unwrap_or_default();
    texts.iter().filter_map(|path| read_bounded(path, MAXIMUM_FILE).ok().flatten()).any(|text| mode_is_once(&text))
}

fn could_name(files: &SettingsFiles, hostname: &Hostname) -> bool {
    files.paths().iter().any(|path| match read_bounded(path, MAXIMUM_FILE) {
        Ok(Some(text)) => might_name(&text, hostname.as_str()),
        // What was named and is not there, or is there and cannot be read, is a failure that the agent words.
        Ok(None) => files.explicit,
        Err(_) => true,
    })
}

/// Looks for the name as a person would write it; escapes, wildcards and anything beyond ASCII count as a yes.
fn might_name(text: &[u8], hostname: &str) -> bool {
    let doubtful = |pair: &[u8]| matches!(pair, [b'\\', b'u' | b'U' | b'x']);
    let name = hostname.as_bytes();
    text.iter().any(|byte| !byte.is_ascii() || *byte == b'*') || text.windows(2).any(doubtful) || names(text, name)
}

/// Looks for the whole name: `corp.example` is not in `registry.corp.example`. A name with a mistake around it counts,
/// such as the table's header without quotation marks.
fn names(text: &[u8], name: &[u8]) -> bool {
    let letter = |at: Option<usize>| {
        let byte = at.and_then(|at| text.get(at));
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
    };
    let is_dot = |at: Option<usize>| at.and_then(|at| text.get(at)) == Some(&b'.');
    let goes_on = |next: Option<usize>, beyond: Option<usize>| letter(next) || (is_dot(next) && letter(beyond));
    let unquoted = |at: usize| text.get(..at).is_some_and(|before| before.ends_with(b"[host."));
    text.windows(name.len().max(1)).enumerate().any(|(at, part)| {
        let end = at + name.len();
        part.eq_ignore_ascii_case(name)
            && (unquoted(at) || !goes_on(at.checked_sub(1), at.checked_sub(2)))
            && !goes_on(Some(end), Some(end + 1))
    })
}

/// Looks for `mode = "once"` outside comments, under whatever table: no other table has that key.
fn mode_is_once(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or(line);
        let dense: Vec<u8> = line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        dense.windows(11).any(|part| part == br#"mode="once""# || part == b"mode='once'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_private;
    use crate::testing::EmptyDirectory;

    fn host(text: &str) -> Hostname {
        Hostname::from_comparison_form(text).expect("a hostname")
    }

    #[test]
    fn truth_table_of_one_file() {
        let cases: [(&[u8], bool); 17] = [
            (b"", false),
            (b"[host.\"other.example\"]", false),
            (b"[host.\"registry.corp.example\"]", true),
            (b"[host.\"Registry.Corp.Example\"]", true),
            (b"# registry.corp.example", true),
            (b"[host.\"my.registry.corp.example\"]", false),
            (b"[host.\"registry.corp.example.evil.example\"]", false),
            (b"[host.\"registry.corp.example:443\"]", true),
            (b"[host.\"registry.corp.example.\"]", true),
            (b"[host.registry.corp.example]", true),
            (b"[host.my.registry.corp.example]", false),
            (b"[host.\"https://.registry.corp.example/\"]", true),
            (b"[host.'registry.corp.example'] # not my.registry.corp.example", true),
            (b"[host.\"*.corp.example\"]", true),
            (b"[host.\"r\\u0065gistry.corp.example\"]", true),
            ("[host.\"bücher.example\"]".as_bytes(), true),
            (b"\xff\xfe[", true),
        ];
        for (text, expected) in cases {
            assert_eq!(might_name(text, "registry.corp.example"), expected, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn no_file_is_a_no_and_a_named_missing_file_is_a_yes() {
        let home = EmptyDirectory::new();
        let main = home.path().join("config.toml");
        let usual = SettingsFiles { drop_in: home.path().join("config.d"), main, explicit: false };
        assert!(!could_name(&usual, &host("a.example")));
        assert!(could_name(&SettingsFiles { explicit: true, ..usual }, &host("a.example")));
    }

    #[test]
    fn drop_in_files_count_unless_the_file_was_named() {
        let home = EmptyDirectory::new();
        let (main, drop_in) = (home.path().join("config.toml"), home.path().join("config.d"));
        write_private(&main, b"").expect("writes");
        write_private(&drop_in.join("10-corp.toml"), b"[host.\"a.example\"]").expect("writes");
        write_private(&drop_in.join("notes.txt"), b"b.example").expect("writes");
        let usual = SettingsFiles { main, drop_in, explicit: false };
        assert!(could_name(&usual, &host("a.example")));
        assert!(!could_name(&usual, &host("b.example")));
        assert!(!could_name(&SettingsFiles { explicit: true, ..usual }, &host("a.example")));
    }

    #[test]
    fn once_is_seen_however_it_is_spaced() {
        assert!(mode_is_once(b"[agent]\nmode=\"once\"\n"));
        assert!(mode_is_once(b"agent = { mode = 'once' }"));
        assert!(!mode_is_once(b"[agent]\n# mode = \"once\"\nmode = \"auto\""));
    }
}
