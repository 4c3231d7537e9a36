//! A value that must not be seen: wiped when dropped, and impossible to print, copy, compare or serialise by accident.
//! The value goes in once, and comes out only through `expose`, which the census in `tests/house` counts.
//! Touches nothing else.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

/// Holds a secret, wiped on drop.
///
/// It has no `Clone`, `Display`, `PartialEq` or serialisation:
///
/// ```compile_fail
/// let secret = credmint_vocabulary::Secret::new(String::from("x"));
/// let copy = secret.clone();
/// ```
/// ```compile_fail
/// println!("{}", credmint_vocabulary::Secret::new(String::from("x")));
/// ```
/// ```compile_fail
/// let (a, b) = (credmint_vocabulary::Secret::new(1_u8), credmint_vocabulary::Secret::new(1_u8));
/// assert!(a == b);
/// ```
pub struct Secret<T: Zeroize>(Zeroizing<T>);

impl<T: Zeroize> Secret<T> {
    /// Takes the value over. A `String` or `Vec` should be built at its exact size: growing leaves copies behind.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    /// Lends the value. Each use is a door out of the house and is listed in `tests/house`.
    #[must_use]
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Compares without telling by its duration where the first difference is; only lengths are not hidden.
    #[must_use]
    pub fn same_as(&self, other: &[u8]) -> bool {
        let own = self.0.as_ref();
        let differences = own.iter().zip(other).fold(0, |seen, (a, b)| std::hint::black_box(seen | (a ^ b)));
        own.len() == other.len() && differences == 0
    }

    /// Gives the number of bytes, which may be told.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().len()
    }

    /// Tells whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret<String> {
    /// Makes a second owner of the same secret, on purpose and by name; each copy is wiped on its own.
    #[must_use]
    pub fn copied(&self) -> Self {
        Self::from(self.0.as_str())
    }
}

impl From<&str> for Secret<String> {
    /// Copies into a buffer of exactly the right size.
    fn from(value: &str) -> Self {
        Self::new(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::from("canary")), "Secret");
    }

    #[test]
    fn comparison_sees_length_and_content() {
        let secret = Secret::from("abc");
        assert!(secret.same_as(b"abc"));
        assert!(!secret.same_as(b"abd") && !secret.same_as(b"ab") && !secret.same_as(b"abcd"));
    }
}
