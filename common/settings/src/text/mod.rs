//! Small languages inside a value: durations, templates, addresses, and the nearest word to a mistyped one.
//! Text comes in, a checked value or the reason why not goes out.
//! Knows no file and no key.

pub(crate) mod address;
pub(crate) mod duration;
pub(crate) mod nearest;
pub(crate) mod template;
