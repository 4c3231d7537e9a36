//! How somebody signs in: with a browser here, with a code on another device, or by pasting an address.
//! Arguments and what this machine has come in, a choice and perhaps the reason for it go out.
//! What was asked for is never changed.

use credmint_local_machine::desktop::{NoBrowser, no_browser};

use crate::command_line::LoginArguments;

/// Says how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// We open the browser.
    Browser,
    /// The person opens it.
    OwnBrowser,
    /// A code, on any device; with the reason, if nobody asked for it.
    Device(Option<NoBrowser>),
    /// The person pastes the address that a browser ended at.
    Paste,
}

/// Chooses what was asked for, else what this machine can do; `chosen` says that the settings name a browser.
pub(crate) fn choose(arguments: &LoginArguments, chosen: bool) -> Choice {
    match arguments {
        LoginArguments { device: true, .. } => Choice::Device(None),
        LoginArguments { paste: true, .. } => Choice::Paste,
        LoginArguments { no_browser: true, .. } => Choice::OwnBrowser,
        _ => no_browser(chosen).map_or(Choice::Browser, |reason| Choice::Device(Some(reason))),
    }
}

impl Choice {
    /// Gives the word of the agent protocol.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Browser | Self::OwnBrowser => "browser",
            Self::Device(_) => "device",
            Self::Paste => "paste",
        }
    }

    /// Says why a code is used although nobody asked for one.
    pub(crate) fn note(self) -> Option<String> {
        let Self::Device(Some(reason)) = self else { return None };
        Some(format!(
            "Signing in with a code, because {}.\nOther ways: --no-browser (you open the page on this machine), --paste.\n\n",
            reason.words()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_done() {
        let asked = |device, paste, no_browser| {
            choose(&LoginArguments { device, paste, no_browser, ..LoginArguments::default() }, true)
        };
        let all = [asked(true, false, false), asked(false, true, false), asked(false, false, true)];
        assert_eq!(all, [Choice::Device(None), Choice::Paste, Choice::OwnBrowser]);
        assert_eq!(all.map(Choice::word), ["device", "paste", "browser"]);
        assert!(all.iter().all(|choice| choice.note().is_none()));
        assert!(Choice::Device(Some(NoBrowser::Ssh)).note().is_some_and(|note| note.contains("over ssh")));
    }
}
