//! One line about an issuer, for `credmint explain`.
//! An issuer of the settings comes in, kind, address and role in words go out.
//! Asks nobody.

use std::time::Duration;

use credmint_settings::{Azure, EstAuth, Issuer, KubernetesToken, SpiffeWorkload, VaultAuth, VaultLogin};

/// Tells kind, address and role.
#[must_use]
pub fn describe(issuer: &Issuer) -> String {
    match issuer {
        Issuer::VaultPki(pki) => {
            format!("vault-pki, role {} of {} at {}{}", pki.role, pki.mount, login(&pki.login), life(pki.ttl))
        }
        Issuer::VaultToken(token) => format!("vault-token at {}", login(&token.login)),
        Issuer::VaultSecret(secret) => {
            format!("vault-secret, field {} of {} at {}", secret.field, secret.path, login(&secret.login))
        }
        Issuer::Oidc(oidc) => match &oidc.audience {
            Some(audience) => format!("oidc, the identity's own token, for audience {audience}"),
            None => "oidc, the identity's own token".to_owned(),
        },
        Issuer::TokenExchange(exchange) => {
            let place = exchange.token_endpoint.as_ref().or(exchange.issuer.as_ref()).map_or("", String::as_str);
            format!("token-exchange at {place}{}", list(" for audience ", &exchange.audience))
        }
        Issuer::Est(est) => format!("est at {} ({})", est.address, est_auth(&est.auth)),
        Issuer::StepCa(step) => format!("step-ca at {}, with the identity's token{}", step.address, life(step.ttl)),
        Issuer::Offline(_) => "offline, signed by people: credmint login HOST --csr FILE".to_owned(),
        Issuer::Spiffe(workload) => format!("spiffe, an X.509-SVID of the Workload API{}", spiffe(workload)),
        Issuer::LocalCa(_) => "local-ca, an authority in the agent's memory".to_owned(),
        _ => cloud(issuer),
    }
}

fn cloud(issuer: &Issuer) -> String {
    match issuer {
        Issuer::AwsSts(sts) => {
            let way: Vec<&str> = std::iter::once(&sts.role_arn).chain(&sts.then).map(String::as_str).collect();
            format!("aws-sts at {}, role {}{}", sts.address(), way.join(", then "), life(sts.duration))
        }
        Issuer::RolesAnywhere(anywhere) => {
            let way: Vec<&str> =
                std::iter::once(&anywhere.role_arn).chain(&anywhere.then).map(String::as_str).collect();
            let (address, own) = (anywhere.address(), &anywhere.certificate_issuer);
            let (way, life) = (way.join(", then "), life(anywhere.duration));
            format!("aws-roles-anywhere at {address}, role {way}{life}, with a certificate of {own}")
        }
        Issuer::GoogleSts(sts) => {
            let account = sts.service_account.as_ref().map(|account| format!(", as {account}")).unwrap_or_default();
            let own =
                sts.certificate_issuer.as_ref().map(|own| format!(", with a certificate of {own}")).unwrap_or_default();
            format!("google-sts at {}, for {}{account}{own}{}", sts.endpoint, sts.audience, life(sts.lifetime))
        }
        Issuer::Azure(azure) => {
            let Azure { endpoint, tenant, client_id, scope, .. } = &**azure;
            format!("azure at {endpoint}/{tenant}, client {client_id}, for {scope}")
        }
        Issuer::KubernetesToken(token) => {
            let KubernetesToken { address, namespace, service_account, .. } = &**token;
            format!("kubernetes-token of {namespace}/{service_account} at {address}{}", life(token.ttl))
        }
        Issuer::GithubApp(app) => {
            format!("github-app {}, installation {} at {}", app.app_id, app.installation_id, app.endpoint)
        }
        _ => "an issuer of a later version".to_owned(),
    }
}

/// Tells the life that is asked for, if one is.
fn life(asked: Option<Duration>) -> String {
    let words = |seconds: u64| match (seconds % 3600, seconds % 60) {
        (0, _) => format!(", to live for {}h", seconds / 3600),
        (_, 0) => format!(", to live for {}m", seconds / 60),
        _ => format!(", to live for {seconds}s"),
    };
    asked.map(|life| words(life.as_secs())).unwrap_or_default()
}

fn spiffe(workload: &SpiffeWorkload) -> String {
    let id = workload.spiffe_id.as_ref().map(|id| format!(", {id}")).unwrap_or_default();
    let socket = workload.socket.as_ref().map(|socket| format!(" at {socket}")).unwrap_or_default();
    format!("{socket}{id}")
}

fn est_auth(auth: &EstAuth) -> &'static str {
    match auth {
        EstAuth::Bearer => "with the identity's token",
        EstAuth::Basic { .. } => "with a password",
        EstAuth::Cert { .. } => "with a client certificate",
        _ => "with something of a later version",
    }
}

fn list(before: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("{before}{}", items.join(", ")) }
}

fn login(login: &VaultLogin) -> String {
    let namespace = login.namespace.as_ref().map(|name| format!(", namespace {name}")).unwrap_or_default();
    format!("{} ({}{namespace})", login.address, auth(&login.auth))
}

fn auth(auth: &VaultAuth) -> String {
    match auth {
        VaultAuth::Jwt { mount, role } if role.is_empty() => format!("auth jwt at {mount}, its default role"),
        VaultAuth::Jwt { mount, role } => format!("auth jwt at {mount}, role {role}"),
        VaultAuth::Kubernetes { mount, role } => format!("auth kubernetes at {mount}, role {role}"),
        VaultAuth::Aws { mount, role: Some(role) } => format!("auth aws at {mount}, role {role}"),
        VaultAuth::Aws { mount, role: None } => format!("auth aws at {mount}, the role of its name"),
        VaultAuth::AppRole { mount, .. } => format!("auth approle at {mount}"),
        VaultAuth::Cert { mount, role: Some(role), .. } => format!("auth cert at {mount}, role {role}"),
        VaultAuth::Cert { mount, .. } => format!("auth cert at {mount}"),
        VaultAuth::Token { .. } => "auth token".to_owned(),
        VaultAuth::Identity => "auth identity, the sign-in's own token".to_owned(),
        _ => "an auth method of a later version".to_owned(),
    }
}
