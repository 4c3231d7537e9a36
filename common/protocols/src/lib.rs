//! The wire formats of the programs that ask us: one file each, bytes in, words out, and back.
//! Arguments and streams of others come in as they are, requests go out; answers come in, bytes go out.
//! Pure: reads no stream, no environment and no clock.

pub mod terraform;
