//! The processes that one came from: what each is called, which subcommand of Terraform it runs, and where.
//! A process id that the kernel gave comes in, its line of parents goes out, itself first; elsewhere than on Linux there is none.
//! Reads `/proc` alone (`proc_pid_cmdline(5)`, `proc_pid_status(5)`). Of a command line nothing is kept behind the subcommand: a secret may stand there.

use std::path::PathBuf;

/// Describes one process of the line; its command line is what it says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ancestor {
    /// Its id.
    pub id: u32,
    /// Name of the program, or of the script that it is, without a directory.
    pub name: String,
    /// The executable as the kernel knows it, where it may be seen.
    pub executable: Option<PathBuf>,
    /// Its working directory, where that may be seen.
    pub directory: Option<PathBuf>,
    /// The subcommand, if it is Terraform or OpenTofu and has one.
    pub subcommand: Option<String>,
}

/// Follows the parents of a process, itself first, for as long as they are of our own user.
#[cfg(target_os = "linux")]
#[must_use]
pub fn ancestors(id: u32) -> Vec<Ancestor> {
    let mut line = Vec::new();
    let mut next = Some(id).filter(|id| *id > 0);
    while let Some(id) = next.filter(|_| line.len() < DEEPEST) {
        let Some(process) = crate::process::look(id).filter(|_| proc::is_ours(id)) else { break };
        line.push(proc::described(id, &process.name));
        // The first one of a namespace has no parent in it.
        next = Some(process.parent).filter(|parent| *parent > 0);
    }
    line
}

/// Follows nothing here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn ancestors(_id: u32) -> Vec<Ancestor> {
    Vec::new()
}

/// Gives the path that a directory has without symbolic links, where it can be found out; `~/` is the home.
#[must_use]
pub fn resolved(directory: &std::path::Path) -> PathBuf {
    let path = crate::home::below_home(directory).unwrap_or_else(|_| directory.to_owned());
    path.canonicalize().unwrap_or(path)
}

/// Longer than any line of parents that makes sense.
#[cfg(target_os = "linux")]
const DEEPEST: usize = 32;

#[cfg(target_os = "linux")]
mod proc {
    use std::fs::{File, read_link};
    use std::io::Read;

    use zeroize::Zeroizing;

    use super::{Ancestor, called};

    /// Tells whether a process has our own effective user number, which is the second of four.
    pub(super) fn is_ours(id: u32) -> bool {
        let status = read(id, "status");
        let text = String::from_utf8_lossy(&status);
        let line = text.lines().find_map(|line| line.strip_prefix("Uid:"));
        let effective = line.and_then(|numbers| numbers.split_ascii_whitespace().nth(1)?.parse().ok());
        effective == Some(crate::socket::own_uid())
    }

    pub(super) fn described(id: u32, own_name: &str) -> Ancestor {
        let (name, subcommand) = called(&read(id, "cmdline"), own_name);
        let link = |file: &str| read_link(format!("/proc/{id}/{file}")).ok();
        Ancestor { id, name, executable: link("exe"), directory: link("cwd"), subcommand }
    }

    /// Reads the beginning of a file of the kernel's; nothing where it may not be read.
    #[expect(clippy::disallowed_methods, reason = "files are read in local-machine: this is the kernel's")]
    fn read(id: u32, file: &str) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(BEGINNING));
        let opened = File::open(format!("/proc/{id}/{file}"));
        if let Ok(opened) = opened {
            // What was read is what there is.
            drop(opened.take(BEGINNING as u64).read_to_end(&mut bytes));
        }
        bytes
    }

    const BEGINNING: usize = 4096;
}

/// Finds out what a process is called, and the subcommand of a Terraform. A script's command line begins with its interpreter; the
/// kernel names the process after the script, in 15 bytes.
#[cfg(any(target_os = "linux", test))]
fn called(line: &[u8], own_name: &str) -> (String, Option<String>) {
    use credmint_vocabulary::{Phase, printable};
    let text = String::from_utf8_lossy(line);
    let arguments: Vec<&str> = text.split('\0').collect();
    let base = |argument: &str| argument.rsplit('/').next().unwrap_or_default().trim_start_matches('-').to_owned();
    let names_it = |argument: &&str| !own_name.is_empty() && base(argument).starts_with(own_name);
    let at = arguments.iter().take(3).position(names_it).unwrap_or(0);
    let name = arguments.get(at).map(|argument| base(argument)).filter(|name| !name.is_empty());
    let name = printable(&name.unwrap_or_else(|| own_name.to_owned()), 64);
    let behind = arguments.iter().skip(at + 1).copied();
    let subcommand = Phase::subcommand(behind).filter(|_| Phase::is_of_program(&name));
    (name, subcommand.map(|word| printable(word, 32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terraform_is_known_by_its_command_line_a_script_by_its_own_name() {
        let of = |line: &str, own: &str| called(line.replace(' ', "\0").as_bytes(), own);
        let terraform = |word: &str| ("terraform".to_owned(), Some(word.to_owned()));
        assert_eq!(of("terraform plan -var password=x", "terraform"), terraform("plan"));
        assert_eq!(of("/usr/bin/terraform -chdir=x apply", "terraform"), terraform("apply"));
        assert_eq!(of("/bin/sh /opt/terraform destroy", "terraform"), terraform("destroy"));
        assert_eq!(of("/bin/sh -eu /opt/terraform plan", "terraform"), terraform("plan"));
        assert_eq!(of("tofu", "tofu"), ("tofu".to_owned(), None));
        assert_eq!(
            of("/x/terraform-provider-aws apply", "terraform-provi"),
            ("terraform-provider-aws".to_owned(), None)
        );
        assert_eq!(of("-bash", "bash"), ("bash".to_owned(), None));
        assert_eq!(of("", "kthread"), ("kthread".to_owned(), None));
        assert_eq!(of("vim terraform apply", "vim"), ("vim".to_owned(), None), "a file of that name is no Terraform");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_line_begins_with_us_and_nobodys_is_empty() {
        let line = ancestors(std::process::id());
        let parent = line.get(1).map(|parent| parent.id);
        assert_eq!((line.first().map(|own| own.id), parent), (Some(std::process::id()), crate::process::parent()));
        assert!(line.first().and_then(|own| own.directory.clone()).is_some());
        assert!(ancestors(0).is_empty());
    }
}
