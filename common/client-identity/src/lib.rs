//! One identity object for mutual TLS: private key, certification request, certification path, validity.
//! Bytes come in, bytes go out, never a path.
//! Touches nothing else. RFC 2986 (requests), RFC 5280 (certificates), RFC 5958 (keys).

mod algorithm;

pub use algorithm::KeyAlgorithm;
