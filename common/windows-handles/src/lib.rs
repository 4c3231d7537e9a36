//! Keeps our standard streams to ourselves on Windows, where what we start inherits every handle with a certain mark.
//! Nothing comes in, three marks are taken away; the only `unsafe` of the house, for the call has no safe form.
//! Closes nothing and reads nothing. `SetHandleInformation`, rust-lang/rust#54760.
#![cfg(windows)]

use std::io;
use std::os::windows::io::{AsRawHandle, RawHandle};

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};

/// Takes the mark from standard input, output and error, which Terraform set to hand us its pipes.
///
/// An agent that got them would keep Terraform waiting for the pipes' end.
pub fn keep_standard_streams() {
    let streams = [io::stdin().as_raw_handle(), io::stdout().as_raw_handle(), io::stderr().as_raw_handle()];
    streams.into_iter().filter(|stream| !stream.is_null()).for_each(keep);
}

#[expect(unsafe_code, reason = "no safe call exists")]
fn keep(stream: RawHandle) {
    // SAFETY: the call changes one flag of a handle and no memory. Standard streams stay open as long as the process;
    // for a number that is no handle (`INVALID_HANDLE_VALUE`) it fails, and then there is nothing to hand on.
    unsafe { SetHandleInformation(stream, HANDLE_FLAG_INHERIT, 0) };
}
