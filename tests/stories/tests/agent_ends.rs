//! The end: of an entry by `forget`, of the agent by a signal, by the person, and by idleness. Nothing outlives it.

use std::time::Duration;

use credmint_stories::{Company, HOST, User, file_identity, terraform, token_host, wait_until};
use credmint_test_kit::processes::{signal, wait_for_end};
use credmint_test_kit::{Gate, OpenIdProvider, Registry, memory};
use rustix::process::Signal;

/// Gives the agent, if the test may look into its memory; otherwise what there is to check is checked.
fn agent_to_read(user: &User) -> Option<u32> {
    user.canary.check(&user.home);
    Some(user.home.agent().pid).filter(|agent| memory::is_readable(*agent))
}

fn forget(user: &User) {
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
}

fn exchange(provider: &OpenIdProvider) -> String {
    let issuer = provider.issuer();
    let client = format!("client_id = \"cli\"\naudience = \"{HOST}\"\n");
    format!("[issuer.exchange]\nkind = \"token-exchange\"\nissuer = \"{issuer}\"\n{client}\n")
}

#[test]
fn forget_wipes_a_token_from_the_agents_memory() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());

    // 1. A token passed on, and one that was exchanged for it.
    let subject = provider.token_for("alice", "registry", 300);
    let token = user.token_file(&subject);
    user.settings(&(file_identity(&token) + &exchange(&provider) + &token_host("\"job\"", "exchange")));
    let exchanged = user.got("token");
    let exchanged = user.canary.watch("exchanged token", exchanged);
    // 2. Both are in the agent's memory, where they belong: without that, what follows would prove nothing.
    let Some(agent) = agent_to_read(&user) else { return };
    assert!(memory::holds(agent, exchanged.as_bytes()) && memory::holds(agent, subject.as_bytes()));
    // 3. Forgotten, they are nowhere in it, in no buffer of any library.
    forget(&user);
    user.canary.memory_lacks(agent, "exchanged token");
    user.canary.memory_lacks(agent, "subject token");
    assert_eq!(user.home.agent().pid, agent, "the agent itself lives on");
    user.canary.check(&user.home);
}

#[test]
fn a_token_that_is_over_is_wiped_from_the_agents_memory() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(5), User::move_in());

    // 1. An exchanged token that lives for five seconds; nobody asks for it again.
    let token = user.token_file(&provider.token_for("alice", "registry", 300));
    user.settings(&(file_identity(&token) + &exchange(&provider) + &token_host("\"job\"", "exchange")));
    let exchanged = user.got("token");
    let exchanged = user.canary.watch("exchanged token", exchanged);
    let Some(agent) = agent_to_read(&user) else { return };
    assert!(memory::holds(agent, exchanged.as_bytes()));
    // 2. When it is over it is gone, and so is the token that it was got for.
    wait_until("what is over is wiped", || !memory::holds(agent, exchanged.as_bytes()));
    user.canary.memory_lacks(agent, "exchanged token");
    user.canary.memory_lacks(agent, "subject token");
    assert_eq!(user.home.agent().pid, agent, "the agent itself lives on");
    user.canary.check(&user.home);
}

#[test]
fn forget_wipes_a_private_key_from_the_agents_memory() {
    let (company, mut user) = (Company::found(), User::move_in());

    // 1. An identity, delivered inline so that the test knows its key.
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "deliver = \"inline\"\n")));
    let key = user.got("client_private_key_pem");
    user.canary.watch_pem("client private key", &key);
    // 2. The agent holds the key as DER, and its text no more.
    let Some(agent) = agent_to_read(&user) else { return };
    let body: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
    assert!(memory::holds(agent, &credmint_test_kit::encoding::from_base64(&body)));
    // 3. Forgotten, neither key nor the token that it was got with is in its memory; the login is over.
    forget(&user);
    company.bao.wait_for("the login ends with its entry", |client| client.logins().is_empty());
    user.canary.memory_lacks(agent, "client private key");
    user.canary.memory_lacks(agent, "subject token");
    user.canary.check(&user.home);
}

#[test]
fn terraform_logout_wipes_what_the_bridge_sent_and_revokes_the_session() {
    let Some(terraform) = terraform() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());

    // 1. A bearer token behind the bridge: this registry gets it on archives, too, which Terraform itself never does.
    let bearer = provider.token_for("alice", HOST, 300);
    let registry = Registry::behind(Gate::Bearer(bearer.clone())).start();
    user.setup(registry.address());
    let token = user.token_file(&bearer);
    let host = format!(
        "[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"as-it-is\"\ndeliver = \"bridge\"\nca = \"{}\"\n",
        registry.ca_file().display()
    );
    user.settings(&(file_identity(&token) + "[issuer.as-it-is]\nkind = \"oidc\"\n\n" + &host));
    terraform.init(&user.home, &user.work).success();
    assert!(registry.requests().iter().all(|request| request.authorization == format!("Bearer {bearer}")));
    let session = user.got("token");
    let session = user.canary.watch("session token", session);
    let versions = "v1/modules/corp/network/aws/versions";
    assert_eq!(user.ask_bridge("127.0.0.1", versions, &session).status, 200);
    let Some(agent) = agent_to_read(&user) else { return };
    assert!(memory::holds(agent, bearer.as_bytes()) && memory::holds(agent, session.as_bytes()));
    // 2. `terraform logout` is `forget`: neither token is left in any buffer of any connection.
    terraform.run(&user.home, &user.work, &["logout", HOST]).output().success();
    user.canary.memory_lacks(agent, "subject token");
    user.canary.memory_lacks(agent, "session token");
    assert_eq!(user.ask_bridge("127.0.0.1", versions, &session).status, 401);
    user.canary.check(&user.home);
}

#[test]
fn a_signal_ends_the_agent_and_everything_that_it_held() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));

    for told in [Signal::TERM, Signal::INT, Signal::HUP] {
        // 1. An agent with a login, an identity, a socket and a bridge.
        let session = user.got("token");
        user.canary.watch("session token", &session);
        let agent = user.home.agent().pid;
        assert_eq!((company.bao.logins().len(), user.home.sockets().len()), (1, 1));
        // 2. Told to end it ends, and takes all of that with it.
        signal(agent, told);
        assert!(wait_for_end(agent, Duration::from_secs(5)), "{told:?}");
        assert!(user.home.sockets().is_empty() && user.home.processes().is_empty(), "{told:?}");
        assert!(std::net::TcpListener::bind(("127.0.0.1", user.port)).is_ok(), "the port is free: {told:?}");
        company.bao.wait_for("the login ends with the agent", |client| client.logins().is_empty());
    }
    user.canary.check(&user.home);
}

#[test]
fn an_idle_agent_ends_by_itself_and_revokes_its_logins() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());

    // 1. Two seconds without a question are enough here.
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let agent = "[agent]\nidle_exit = \"2s\"\n\n".to_owned();
    user.settings(&(agent + &file_identity(&token) + &company.issuer() + &company.host("job", "")));
    let session = user.got("token");
    user.canary.watch("session token", session);
    let agent = user.home.agent().pid;
    assert_eq!(company.bao.logins().len(), 1);
    // 2. It goes, as if it had been told to.
    assert!(wait_for_end(agent, Duration::from_secs(14)));
    assert!(user.home.sockets().is_empty());
    company.bao.wait_for("the login ends with the agent", |client| client.logins().is_empty());
    // 3. The next question starts another.
    let session = user.got("token");
    user.canary.watch("another session token", session);
    assert_ne!(user.home.agent().pid, agent);
    user.canary.check(&user.home);
}
