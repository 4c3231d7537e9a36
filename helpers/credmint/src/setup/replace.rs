//! Replaces a person's file at once and whole: what reads it sees the old text or the new one.
//! A path and bytes come in; the file behind a symbolic link is written, mode and owner are kept.
//! On failure the old file is still there.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes the file; a new one is readable by its owner only, for a CLI configuration may hold tokens.
pub(crate) fn file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = target(path)?;
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_directory(directory)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = directory.join(format!(".{name}.credmint-{}", std::process::id()));
    let written = write(&draft, bytes, fs::metadata(&path).ok().as_ref()).and_then(|()| fs::rename(&draft, &path));
    written.inspect_err(|_| fs::remove_file(&draft).unwrap_or_default())
}

/// Makes a missing directory for its owner only: those of the tools whose files these are hold secrets, too.
#[cfg(unix)]
fn make_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(windows)]
fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Follows a symbolic link, so that it stays one.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::canonicalize(path),
        _ => Ok(path.to_owned()),
    }
}

#[expect(clippy::disallowed_methods, reason = "setup edits the files of Terraform, with their own modes")]
fn write(draft: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    let mut file = options.open(draft)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        keep_owner(draft, old)?;
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(windows)]
fn private(_options: &mut OpenOptions) {}

#[cfg(unix)]
fn keep_owner(draft: &Path, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let new = fs::metadata(draft)?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    chown(draft, Some(old.uid()), Some(old.gid()))
}

#[cfg(windows)]
fn keep_owner(_draft: &Path, _old: &Metadata) -> io::Result<()> {
    Ok(())
}
