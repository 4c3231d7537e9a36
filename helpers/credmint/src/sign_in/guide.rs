//! What the person has to do, in words: open a page, approve a code, paste an address.
//! What the agent tells comes in, text for standard error goes out.
//! Decides nothing. Addresses stand alone on their lines, so that they can be copied whole.

use std::io::{self, IsTerminal};

use credmint_agent_protocol::{Approve, Visit};
use credmint_local_machine::terminal;
use credmint_vocabulary::printable;

use super::{big_code, qr};
use crate::out::{self, Style, Tone};

/// Says what the screen can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Columns and lines, on a terminal that can be drawn on.
    pub(crate) size: Option<(u16, u16)>,
    /// Whether there are colours.
    pub(crate) style: Style,
}

impl Screen {
    /// Finds out what standard error can show.
    pub(crate) fn of_stderr() -> Self {
        let size = terminal::size().filter(|_| out::can_move(io::stderr().is_terminal()));
        Self { size, style: Style::of_stderr() }
    }
}

/// Says who began a sign-in: the person, now. Others send links and codes to be approved in their place (RFC 8628, 5.4).
const WARNING: &str = "\
Go on only if you started this yourself, here and now.
Nobody else should have sent you this";

/// Asks for a page to be opened; `opened` says what came of opening it ourselves.
pub(crate) fn visit(visit: &Visit, opened: Option<&Result<(), String>>) -> String {
    let (who, url) = (shown(&visit.who), address(&visit.url));
    let head = match opened {
        Some(Ok(())) => format!("The browser opens to sign in at {who}.\nIf it does not, open this address:"),
        Some(Err(why)) => {
            format!("No browser could be opened ({}).\nTo sign in at {who}, open this address:", shown(why))
        }
        None if visit.paste => format!("To sign in at {who}, open this address in any browser:"),
        None => format!("To sign in at {who}, open this address in a browser on this machine:"),
    };
    format!("{head}\n\n{url}\n\n{}", if visit.paste { PASTE } else { "" })
}

/// Goes before the prompt.
const PASTE: &str = "\
The browser ends at an address that begins with http://127.0.0.1 or http://localhost
and may say that it cannot be reached: that is right. Copy that address, all of it.

";

/// Comes before each address that is pasted.
pub(crate) const PROMPT: &str = "Paste it here: ";

/// Shows a code to be approved on any device.
pub(crate) fn approve(approve: &Approve, screen: Screen) -> String {
    let (who, code) = (shown(&approve.who), shown(&approve.user_code));
    let uri = address(&approve.verification_uri);
    let mut text = format!("To sign in at {who}, open this address on any device:\n\n{uri}\n\n");
    if code.is_empty() {
        // OpenBao's mode `direct` has no code: its page names the address of who asked, and the role.
        return text + NO_CODE + &screen.style.paint(Tone::Bad, &format!("{WARNING} address.")) + "\n\n";
    }
    text += "and enter or compare the code\n\n";
    text += &code_block(&code, screen);
    let complete = approve.verification_uri_complete.as_deref().map(address);
    if let Some(complete) = &complete {
        text += &scan(complete, screen);
    }
    text + &screen.style.paint(Tone::Bad, &format!("{WARNING} code.")) + "\n\n"
}

const NO_CODE: &str = "\
There is no code to compare. The page asks whether you started this: compare the
address that it shows with this machine's, and say no if it is another.

";

fn code_block(code: &str, screen: Screen) -> String {
    let indented = |line: &String| format!("    {line}\n");
    let wide = screen.size.and_then(|(columns, _)| big_code::lines(code, columns.saturating_sub(4)));
    let large = wide.map(|lines| lines.iter().map(indented).collect::<String>() + "\n").unwrap_or_default();
    format!("{large}    {}\n\n", screen.style.paint(Tone::Heading, code))
}

/// Shows the address with the code in it, for a camera where it can be drawn.
fn scan(complete: &str, screen: Screen) -> String {
    let drawn = screen.size.and_then(|size| qr::lines(complete, size, screen.style));
    let drawn = drawn.map(|lines| lines.join("\n") + "\n\n");
    match drawn {
        Some(code) => format!("or scan\n\n{code}"),
        None => format!("or open the address that has the code in it:\n\n{complete}\n\n"),
    }
}

/// An address as it can be copied: what could not stand in one is taken out.
fn address(text: &str) -> String {
    printable(text, 8_000)
}

fn shown(text: &str) -> String {
    printable(text, 300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    const PLAIN: Screen = Screen { size: None, style: Style::Plain };

    fn page(paste: bool) -> Visit {
        let url = "https://id.corp.example/auth?client_id=terraform&state=x".into();
        Visit { url, who: "id.corp.example".into(), expires_in_seconds: 180, paste }
    }

    fn code() -> Approve {
        Approve {
            user_code: "WDJB-MJHT".into(),
            verification_uri: "https://id.corp.example/device".into(),
            verification_uri_complete: Some("https://id.corp.example/device?user_code=WDJB-MJHT".into()),
            who: "id.corp.example".into(),
            expires_in_seconds: 180,
        }
    }

    #[test]
    fn pages_read_like_the_golden_files() {
        golden::check("login-browser.txt", &visit(&page(false), Some(&Ok(()))));
        golden::check("login-no-browser.txt", &visit(&page(false), None));
        golden::check("login-browser-failed.txt", &visit(&page(false), Some(&Err("xdg-open: not found".into()))));
        golden::check("login-paste.txt", &visit(&page(true), None));
    }

    /// Known case: CVE-2026-33757 of OpenBao (a code that somebody else sent is approved).
    #[test]
    fn codes_read_like_the_golden_files_and_warn_cve_2026_33757() {
        let plain = approve(&code(), PLAIN);
        golden::check("login-device.txt", &plain);
        let drawn = approve(&code(), Screen { size: Some((100, 60)), style: Style::Plain });
        golden::check("login-device-terminal.txt", &drawn);
        assert!([plain, drawn].iter().all(|text| text.contains("Nobody else should have sent you this code")));
    }

    /// Known case: CVE-2026-33757 of OpenBao (its mode `direct` has no code to compare).
    #[test]
    fn without_a_code_the_address_is_compared_and_the_warning_stays_openbao_cve_2026_33757() {
        let text = approve(&Approve { user_code: String::new(), verification_uri_complete: None, ..code() }, PLAIN);
        assert!(text.contains("There is no code to compare") && !text.contains("enter or compare the code"), "{text}");
        assert!(text.contains("Nobody else should have sent you this address"), "{text}");
    }

    #[test]
    fn the_issuer_cannot_move_the_cursor_cve_2024_50349() {
        let bad = Approve { user_code: "A\x1b[2J\nB".into(), verification_uri: "https://x/\x07\r".into(), ..code() };
        assert!(!approve(&bad, PLAIN).contains(['\x1b', '\x07', '\r']));
        let bad = Visit { url: "https://x/\x1b]8;;evil".into(), who: "\u{202e}x".into(), ..page(false) };
        assert!(!visit(&bad, None).contains(['\x1b', '\u{202e}']));
    }
}
