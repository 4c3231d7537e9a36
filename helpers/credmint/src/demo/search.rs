//! Looks for needles in the throw-away home and in processes: files, arguments, environment.
//! Needles, a directory and process numbers come in; what was searched and what was found goes out.
//! Reads only; says what it could not read.

use std::fs;
use std::path::Path;

use credmint_local_machine::files::read_bounded;

use super::needles::Needle;
use crate::programs;

const LARGEST: usize = 256 << 20;

/// Says what a search covered, and what it found.
#[derive(Default)]
pub(crate) struct Search {
    /// Number of files that were read.
    pub(crate) files: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// Arguments and environments that were read.
    pub(crate) of_processes: Vec<String>,
    /// Copies of our own programs, whose text has the markers of keys.
    pub(crate) programs: Vec<String>,
    /// What could not be read, and why.
    pub(crate) unread: Vec<String>,
    /// Where something was found, and what.
    pub(crate) found: Vec<String>,
}

impl Search {
    /// Searches a directory and all below it; links are not followed, their targets' names are searched.
    pub(crate) fn directory(&mut self, directory: &Path, needles: &[Needle]) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            self.look(&path.display().to_string(), path.as_os_str().as_encoded_bytes(), needles);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => self.directory(&path, needles),
                Ok(found) if found.is_file() => self.file(&path, needles),
                _ => {}
            }
        }
    }

    /// Searches the arguments and the environment of a process.
    pub(crate) fn process(&mut self, name: &str, pid: u32, needles: &[Needle]) {
        for (part, words) in [("cmdline", "arguments"), ("environ", "environment")] {
            let what = format!("{words} of {name} ({pid})");
            match read_bounded(Path::new(&format!("/proc/{pid}/{part}")), 1 << 20) {
                Ok(Some(bytes)) => {
                    self.look(&what, &bytes, needles);
                    self.of_processes.push(what);
                }
                Ok(None) => self.unread.push(format!("{what}: this system has no /proc, or the process is gone")),
                Err(_) => self.unread.push(format!("{what}: the kernel shows it to nobody (not dumpable)")),
            }
        }
    }

    fn file(&mut self, path: &Path, needles: &[Needle]) {
        match read_bounded(path, LARGEST) {
            Ok(Some(bytes)) if is_our_program(path, &bytes) => self.programs.push(path.display().to_string()),
            Ok(Some(bytes)) => {
                self.files += 1;
                self.bytes += bytes.len();
                self.look(&path.display().to_string(), &bytes, needles);
            }
            Ok(None) => {}
            Err(error) => self.unread.push(format!("{} {error}", path.display())),
        }
    }

    fn look(&mut self, place: &str, hay: &[u8], needles: &[Needle]) {
        let found = needles.iter().filter(|needle| needle.is_in(hay));
        self.found.extend(found.map(|needle| format!("{} in {place}", needle.name)));
    }
}

/// Tells whether it is a program that `setup` copied, as on Windows, byte for byte.
fn is_our_program(path: &Path, bytes: &[u8]) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).filter(|_| cfg!(windows));
    let original = name.and_then(|name| programs::beside(name).ok());
    original.is_some_and(|original| matches!(read_bounded(&original, LARGEST), Ok(Some(text)) if text == bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::needles;
    use credmint_vocabulary::Secret;

    #[test]
    fn what_lies_in_a_file_a_name_or_an_argument_is_found() {
        let needles = vec![needles::of_token("token", &Secret::from("hidden-7f3a"))];
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut search = Search::default();
        search.directory(&home, &needles);
        assert!(search.files > 20 && search.found.iter().all(|found| found.contains("search.rs")));
        assert_eq!(search.found.len(), 1, "this file says it: {:?}", search.found);
        #[cfg(target_os = "linux")]
        {
            search.process("this test", std::process::id(), &needles);
            assert_eq!((search.found.len(), search.of_processes.len()), (1, 2));
        }
    }
}
