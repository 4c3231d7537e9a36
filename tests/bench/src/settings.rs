//! The settings of the bench: one host that gets a token, one that gets the bridge.
//! A home comes in, a settings file is in it afterwards.
//! No network is behind either: what is measured is ours.

use std::net::TcpListener;

use credmint_test_kit::encoding::base64_url;
use credmint_test_kit::home::Home;

pub(crate) const TOKEN_HOST: &str = "token.corp.example";
pub(crate) const BRIDGE_HOST: &str = "bridge.corp.example";

/// Writes the settings.
pub(crate) fn write(home: &Home) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
    home.write_settings(&format!(
        "[bridge]\nport = {port}\n[identity.job]\nkind = \"env\"\nvariable = \"WORKLOAD_TOKEN\"\n\
         [issuer.pass]\nkind = \"oidc\"\n[issuer.lab]\nkind = \"local-ca\"\n\
         [host.\"{TOKEN_HOST}\"]\nidentity = \"job\"\nissuer = \"pass\"\n\
         [host.\"{BRIDGE_HOST}\"]\nidentity = \"job\"\nissuer = \"lab\"\n"
    ));
}

/// Gives a token that lives long; nobody verifies it here.
pub(crate) fn token() -> String {
    let part = |json: &str| base64_url(json.as_bytes());
    let claims = r#"{"iss":"https://id.corp.example","sub":"bench","aud":"x","exp":4102444800}"#;
    format!("{}.{}.c2ln", part(r#"{"alg":"none"}"#), part(claims))
}
