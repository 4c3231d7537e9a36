//! x
use super::*;
pub(crate) struct Script;
impl Script {
    pub(crate) async fn next(&self, _: &Tokens) -> Result<Tokens, RefreshError> {
        Err(RefreshError::Over(String::new()))
    }
}
