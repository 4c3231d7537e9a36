//! Standard input and output as pipes of bytes that hold secrets: no buffer of the library keeps a copy.
//! Bytes come in up to a bound, or go out in one piece.
//! Looks at none of them.

use std::io;

use zeroize::Zeroizing;

/// Reads standard input to its end; what is beyond the bound is drained and reported by `None`.
///
/// # Errors
/// What the system says.
pub fn read_stdin(limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut bytes = Zeroizing::new(vec![0; limit + 1]);
    let mut filled = 0;
    loop {
        let room = bytes.get_mut(filled..).unwrap_or_default();
        if room.is_empty() {
            // A writer that sees its pipe close early reports that in place of our reason: read on, keep nothing.
            filled = limit;
            while read(bytes.get_mut(..limit).unwrap_or_default())? > 0 {}
            bytes.get_mut(..filled).unwrap_or_default().fill(0);
            return Ok(None);
        }
        match read(room)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// Reads one line of standard input, without its end; `None` at the end of the input or beyond the bound.
///
/// # Errors
/// What the system says.
pub fn read_line(limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(limit));
    let mut byte = Zeroizing::new([0]);
    while line.len() < limit {
        match read(&mut *byte)? {
            0 if line.is_empty() => return Ok(None),
            0 => return Ok(Some(line)),
            _ if *byte == [b'\n'] => return Ok(Some(line)),
            _ => line.extend_from_slice(&*byte),
        }
    }
    Ok(None)
}

/// Writes an answer to standard output, whole.
///
/// # Errors
/// What the system says; the reader is gone, or the output is closed.
pub fn write_stdout(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = write(bytes)?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(unix)]
fn read(buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::read(rustix::stdio::stdin(), &mut *buffer))?)
}

#[cfg(unix)]
fn write(bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), bytes))?)
}

#[cfg(windows)]
fn read(buffer: &mut [u8]) -> io::Result<usize> {
    io::Read::read(&mut io::stdin().lock(), buffer)
}

#[cfg(windows)]
fn write(bytes: &[u8]) -> io::Result<usize> {
    use std::io::Write;
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(bytes.len())
}
