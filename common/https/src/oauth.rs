//! What `oauth2` and `openidconnect` send their requests through: no redirects, bounded bodies, our deadline.
//! Their request comes in, their response goes out.
//! Dials out through [`Https`]. Both crates ask for a client that follows no redirect (SSRF).

use std::future::Future;
use std::pin::Pin;

use credmint_vocabulary::Deadline;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};

use crate::client::Https;
use crate::error::HttpsError;
use crate::trust::Trust;

/// Sends requests of `oauth2` and `openidconnect` to one server, within one deadline.
#[derive(Clone, Debug)]
pub struct OauthHttp<'a> {
    /// The sender.
    pub https: &'a Https,
    /// How far the server is trusted.
    pub trust: Trust,
    /// When an answer is of no more use.
    pub deadline: Deadline,
}

impl<'c> AsyncHttpClient<'c> for OauthHttp<'_> {
    type Error = HttpsError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpsError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let mut answer = self.https.send(&self.trust, request, self.deadline).await?;
            let mut response = HttpResponse::new(std::mem::take(&mut *answer.body));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}
