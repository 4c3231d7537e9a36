//! The end of a sign-in by a browser: the callback's code for a client token.
//! A sign-in that was begun and its callback come in, tokens go out.
//! Sends the code nowhere but to the Vault that began it, with the nonce that only we know.

use credmint_identities::{Callback, SignInError, Tokens};
use url::form_urlencoded::Serializer;
use zeroize::Zeroizing;

use super::begin::VaultPage;
use super::{Call, VaultSignIn};
use crate::error::GrantError;
use crate::vault::answer::Reply;
use crate::vault::login::{at_login, authenticated};
use crate::vault::transport;

impl VaultSignIn {
    /// Redeems a callback.
    ///
    /// # Errors
    /// [`GrantError::SignIn`] when the provider refused, and all that can go wrong with a Vault.
    pub async fn redeem(&self, page: VaultPage, callback: Callback, call: Call<'_>) -> Result<Tokens, GrantError> {
        if !page.matches(&callback) {
            return Err(SignInError::Foreign.into());
        }
        let refused = |(class, reason): (_, &str)| SignInError::Refused {
            who: page.url.host_str().unwrap_or_default().to_owned(),
            class,
            reason: reason.to_owned(),
        };
        let code = callback.code().map_err(refused)?;
        let parameters = [("state", &page.state), ("code", code), ("client_nonce", &page.nonce)];
        let pairs = parameters.map(|(name, value)| (name, value.expose().as_str()));
        let room = pairs.iter().map(|(name, value)| name.len() + 3 * value.len() + 2).sum();
        let query = Serializer::new(String::with_capacity(room)).extend_pairs(pairs).finish();
        let (line, path) = (self.line(call), self.path("callback"));
        let asked = transport::Call::ask(path.clone(), Zeroizing::new(query));
        let reply = Reply::judge(self.who(), &path, line.send(asked, None).await?, line.now()).map_err(at_login)?;
        let (auth, _) = authenticated(&reply, self.who())?;
        Ok(self.tokens(auth, &line).await)
    }
}
