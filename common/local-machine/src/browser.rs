//! Opens a page in the person's browser: the settings' one, `$BROWSER`, else the platform's opener.
//! An address comes in, a program is started with it as one argument; no shell ever sees it.
//! Only `http` and `https` are opened; what is started keeps nothing of ours and lives on by itself.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment;
use crate::start::leave_descriptors_behind;

/// Says why no browser was opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is none that a browser should be given.
    #[error("the issuer's address is not one of the web")]
    Address,
    /// It cannot be run.
    #[error("{program}: {why}")]
    Program {
        /// Which program.
        program: String,
        /// What was wrong.
        why: io::Error,
    },
    /// It ran and ended with a failure at once.
    #[error("{program} gave up ({status})")]
    Ended {
        /// Which program.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
}

/// Opens an address by the first program that takes it; `chosen` is the settings' program and its arguments.
///
/// # Errors
/// What the first of them said, when none does: the person opens it by hand.
pub fn open(chosen: &[String], address: &str) -> Result<(), OpenError> {
    if !is_of_the_web(address) {
        return Err(OpenError::Address);
    }
    let mut first = None;
    for program in candidates(chosen, environment::read(environment::BROWSER).as_deref()) {
        match start(&with_address(&program, address)) {
            Ok(()) => return Ok(()),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Err(first.unwrap_or(OpenError::Address))
}

/// Keeps `file:`, options and everything that a browser would have to guess at away from it.
fn is_of_the_web(address: &str) -> bool {
    let plain = address.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>`\\^{|}".contains(&byte));
    plain && (address.starts_with("https://") || address.starts_with("http://"))
}

/// Lists what to try: the settings' program alone if there is one, else those of `$BROWSER`, then the platform's.
fn candidates(chosen: &[String], variable: Option<&str>) -> Vec<Vec<String>> {
    if !chosen.is_empty() {
        return vec![chosen.to_vec()];
    }
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let named = variable.unwrap_or_default().split(SEPARATOR).map(words).filter(|words| !words.is_empty());
    named.chain(PLATFORM.iter().map(|command| words(command))).collect()
}

/// Puts the address where `%s` stands, else at the end.
fn with_address(program: &[String], address: &str) -> Vec<String> {
    let has_place = program.iter().skip(1).any(|word| word.contains("%s"));
    let (name, arguments) = program.split_at(program.len().min(1));
    let arguments = arguments.iter().map(|word| word.replace("%s", address));
    name.iter().cloned().chain(arguments).chain((!has_place).then(|| address.to_owned())).collect()
}

fn start(argv: &[String]) -> Result<(), OpenError> {
    let (program, arguments) = argv.split_first().ok_or(OpenError::Address)?;
    leave_descriptors_behind();
    let child = command(program, arguments).spawn();
    let child = child.map_err(|why| OpenError::Program { program: program.clone(), why })?;
    match early_end(child) {
        Some(status) if !status.success() => Err(OpenError::Ended { program: program.clone(), status }),
        _ => Ok(()),
    }
}

/// Gives a child its own group: Ctrl-C in the terminal ends us, not the person's browser.
#[expect(clippy::disallowed_methods, reason = "the browser is started here")]
fn command(program: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    environment::as_before(&mut command);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Watches for a moment whether an opener gives up; a browser that stays is left alone.
fn early_end(mut child: Child) -> Option<ExitStatus> {
    let end = Instant::now() + GIVES_UP_WITHIN;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().ok().flatten() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

/// An opener that finds no browser says so by then.
const GIVES_UP_WITHIN: Duration = Duration::from_millis(700);

/// Between the commands of `$BROWSER`.
const SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };

#[cfg(target_os = "macos")]
const PLATFORM: &[&str] = &["open"];
#[cfg(windows)]
const PLATFORM: &[&str] = &["rundll32.exe url.dll,FileProtocolHandler"];
/// The last two are Windows' browser, seen from its Linux subsystem.
#[cfg(not(any(windows, target_os = "macos")))]
const PLATFORM: &[&str] = &["xdg-open", "wslview", "rundll32.exe url.dll,FileProtocolHandler"];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_plain_addresses_of_the_web_reach_a_program() {
        let good = ["https://id.corp.example/auth?client_id=a&scope=openid%20email", "http://127.0.0.1:4000/x"];
        assert!(good.into_iter().all(is_of_the_web));
        let bad = ["file:///etc/passwd", "--help", "https://a b", "https://a\n", "javascript:1", "https://a/'x", ""];
        assert!(!bad.into_iter().any(is_of_the_web));
    }

    #[test]
    fn the_settings_program_is_alone_and_the_variable_comes_before_the_platform() {
        let chosen = words("firefox --private-window");
        assert_eq!(candidates(&chosen, Some("lynx")), std::slice::from_ref(&chosen));
        let variable = format!("chromium --new-window %s{SEPARATOR}{SEPARATOR}firefox");
        let all = candidates(&[], Some(&variable));
        assert_eq!(all.get(..2), Some([words("chromium --new-window %s"), words("firefox")].as_slice()));
        assert_eq!(all.len(), 2 + PLATFORM.len());
    }

    #[test]
    fn the_address_is_one_argument() {
        let address = "https://a.example/?b=c&d;e$(f)";
        assert_eq!(with_address(&words("firefox"), address), ["firefox", address]);
        assert_eq!(
            with_address(&words("chromium --app=%s --x"), address),
            ["chromium".to_owned(), format!("--app={address}"), "--x".to_owned()]
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_run_or_gives_up_is_told() {
        let address = "https://a.example/";
        assert!(open(&words("true"), address).is_ok());
        assert!(matches!(open(&words("false"), address), Err(OpenError::Ended { .. })));
        assert!(matches!(open(&words("/no/such/browser"), address), Err(OpenError::Program { .. })));
    }
}
