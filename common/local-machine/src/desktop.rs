//! Whether a person who sits at this machine could see a browser that we open.
//! The environment and the marks of containers come in, a reason against it goes out.
//! Starts nothing; a sign-in chooses by it, and the person may choose otherwise. RFC 8628, 1.

use std::path::Path;

use crate::environment::{self, CONTAINER, DISPLAY, SSH_CLIENT, SSH_CONNECTION, SSH_TTY, WAYLAND_DISPLAY};
use crate::environment::{BROWSER, KUBERNETES_SERVICE_HOST, WSL_DISTRO_NAME};

/// Says why a browser that we open would not be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoBrowser {
    /// The person sits at another machine.
    Ssh,
    /// There is no display.
    NoDisplay,
    /// This is a container.
    Container,
}

impl NoBrowser {
    /// Says it after `because`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ssh => "this session came over ssh",
            Self::NoDisplay => "there is no display here",
            Self::Container => "this is a container",
        }
    }
}

/// Finds a reason why a browser would not be seen; `chosen` says that the settings name one.
#[must_use]
pub fn no_browser(chosen: bool) -> Option<NoBrowser> {
    let container = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists());
    decide(&|name| environment::read(name).is_some(), chosen, container)
}

/// Somebody who names a browser has one, except at the far end of ssh: `BROWSER` stands in many a profile there.
fn decide(is_set: &dyn Fn(&str) -> bool, chosen: bool, container: bool) -> Option<NoBrowser> {
    let any = |names: &[&str]| names.iter().any(|name| is_set(name));
    if any(&[SSH_CONNECTION, SSH_CLIENT, SSH_TTY]) {
        return Some(NoBrowser::Ssh);
    }
    if chosen || any(&[BROWSER, WSL_DISTRO_NAME]) || cfg!(any(windows, target_os = "macos")) {
        return None;
    }
    if container || any(&[CONTAINER, KUBERNETES_SERVICE_HOST]) {
        return Some(NoBrowser::Container);
    }
    (!any(&[DISPLAY, WAYLAND_DISPLAY])).then_some(NoBrowser::NoDisplay)
}

#[cfg(all(test, not(any(windows, target_os = "macos"))))]
mod tests {
    use super::*;

    fn with(names: &[&str], chosen: bool, container: bool) -> Option<NoBrowser> {
        decide(&|name| names.contains(&name), chosen, container)
    }

    /// Known case: smallstep/cli#132, #293 (a browser on a remote host that nobody sees).
    #[test]
    fn truth_table() {
        let cases: [(&[&str], bool, bool, Option<NoBrowser>); 10] = [
            (&[DISPLAY], false, false, None),
            (&[WAYLAND_DISPLAY], false, false, None),
            (&[], false, false, Some(NoBrowser::NoDisplay)),
            (&[], true, false, None),
            (&[BROWSER], false, true, None),
            (&[WSL_DISTRO_NAME], false, false, None),
            (&[DISPLAY, SSH_CONNECTION], false, false, Some(NoBrowser::Ssh)),
            (&[BROWSER, SSH_TTY], true, false, Some(NoBrowser::Ssh)),
            (&[DISPLAY], false, true, Some(NoBrowser::Container)),
            (&[DISPLAY, KUBERNETES_SERVICE_HOST], false, false, Some(NoBrowser::Container)),
        ];
        for (names, chosen, container, expected) in cases {
            assert_eq!(with(names, chosen, container), expected, "{names:?} {chosen} {container}");
        }
    }
}
