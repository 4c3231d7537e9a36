//! The only room that dials out: trust roots, proxies, deadlines, bounded bodies, no redirects.
//! A request and how far its peer is trusted come in; a whole answer, a streamed one, or one error for people goes out.
//! Reads PEM files of trust anchors and nothing else, bounded, through local-machine; no cookies, no cache.

mod address;
mod ahead;
mod answer;
mod body;
mod client;
mod dial;
mod error;
mod explain;
mod kept;
mod oauth;
mod passage;
mod pins;
mod pool;
mod resolver;
mod roots;
mod tls;
mod trust;
mod upstream;
mod workload_api;

pub use answer::{Answer, date, host_and_port, retry_after};
pub use client::Https;
pub use error::HttpsError;
pub use oauth::OauthHttp;
pub use passage::{Passage, ProxyOfCaller, passage};
pub use trust::Trust;
pub use upstream::{Upstream, UpstreamTarget};
pub use workload_api::workload_api;
