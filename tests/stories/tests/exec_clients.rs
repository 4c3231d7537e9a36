//! `credmint exec --provider` with real clients below it: boto3, google-auth and azure-identity ask at the endpoints of the run,
//! or sign and show what they found in its environment. The token is the real OpenID Provider's; Google and Entra are no peers of a test.

use credmint_stories::{Company, User, file_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::{Authority, Gate, OpenIdProvider, Output, Registry, Run, Sts, peer, sts};
use serde_json::json;

/// A user whose job has a token for an audience, and these tables.
fn user_with(provider: &OpenIdProvider, audience: &str, tables: &str) -> (User, String) {
    let mut user = User::move_in();
    let token = provider.token_for("alice", audience, 3600);
    let file = user.token_file(&token);
    user.settings(&(file_identity(&file) + tables));
    (user, token)
}

/// Begins a run with a provider.
fn exec<'home>(user: &'home User, provider: &str, program: &[&str]) -> Run<'home> {
    let run = user.home.run(executable("credmint")).args(["exec", "--provider", provider, "--"]);
    run.args(program.iter().copied()).answer()
}

/// A program in Python that has the real clients, below a run.
fn python(user: &User, provider: &str, program: &str) -> Output {
    let file = user.home.write("program.py", program);
    let run = exec(user, provider, &["python3"]).arg(file).env("PYTHONPATH", peer::installed("python-clients"));
    run.env("PYTHONDONTWRITEBYTECODE", "1").output().success()
}

/// Asks as botocore does, of its own accord, until it has other keys.
const BOTOCORE: &str = r#"
import botocore.session, time
credentials = botocore.session.Session().get_credentials()
print(credentials.method)
first = last = credentials.get_frozen_credentials().access_key
end = time.monotonic() + 20
while last == first and time.monotonic() < end:
    time.sleep(0.05)
    last = credentials.get_frozen_credentials().access_key
print(first, last)
"#;

#[test]
fn the_real_botocore_has_keys_and_goes_on_to_new_ones() {
    let provider = OpenIdProvider::start();
    let sts = Sts::start_with(&provider, 6, false);
    let table = "[provider.prod]\nidentity = \"job\"\nissuer = \"aws\"\n";
    let (mut user, _) = user_with(&provider, sts::AUDIENCE, &(sts.issuer("aws", "") + table));
    // A profile of the person's own would be asked before an endpoint.
    let own = "[default]\naws_access_key_id = AKIAMINE\naws_secret_access_key = mine\n";
    user.home.write(".aws/credentials", own);
    let output = python(&user, "prod", BOTOCORE);
    assert_eq!(output.stdout, "container-role\nASIASTRICTSTRICT0001 ASIASTRICTSTRICT0002\n", "{}", output.stderr);
    for secret in sts.secrets() {
        user.canary.watch("secret of AWS", secret);
    }
    user.canary.check(&user.home);
}

/// Google's library exchanges the token of the endpoint; what it asks is here, because Google is no peer of a test.
const GOOGLE: &str = r#"
import json, os, sys, threading, urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
import google.auth.identity_pool, google.auth.transport.requests
account = json.loads(os.environ["GOOGLE_CREDENTIALS"])
seen = []
class Exchange(BaseHTTPRequestHandler):
    def do_POST(self):
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        seen.append(urllib.parse.parse_qs(form))
        body = json.dumps({"access_token": "of-google", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                           "token_type": "Bearer", "expires_in": 3600}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = HTTPServer(("127.0.0.1", urllib.parse.urlsplit(account["token_url"]).port), Exchange)
threading.Thread(target=server.serve_forever, daemon=True).start()
credentials = google.auth.identity_pool.Credentials.from_info(account, scopes=["https://www.googleapis.com/auth/cloud-platform"])
credentials.refresh(google.auth.transport.requests.Request())
print(credentials.token, seen[0]["subject_token"][0], seen[0]["audience"][0])
"#;

#[test]
fn the_real_google_auth_exchanges_what_the_endpoint_answers() {
    let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/id";
    let (provider, port) = (OpenIdProvider::start(), credmint_test_kit::random::free_port());
    let tables = format!(
        "[issuer.google]\nkind = \"google-sts\"\naudience = \"{audience}\"\nendpoint = \"http://127.0.0.1:{port}\"\n\n\
         [provider.cloud]\nidentity = \"job\"\nissuer = \"google\"\n"
    );
    let (mut user, token) = user_with(&provider, audience, &tables);
    // A proxy of the person's is no way to the endpoint: it would see what opens it.
    user.home.set("HTTP_PROXY", DEAD_PROXY);
    let output = python(&user, "cloud", GOOGLE);
    assert!(output.stdout == format!("of-google {token} {audience}\n"), "{}", output.stderr);
    user.canary.check(&user.home);
}

/// Nobody listens there.
const DEAD_PROXY: &str = "http://127.0.0.1:9";

/// Signs a call with whatever keys boto3 finds, and says where it found them.
const BOTO3: &str = r#"
import boto3
session = boto3.Session()
print(session.client("sts").get_caller_identity()["Arn"], session.get_credentials().method)
"#;

#[test]
fn boto3_signs_with_the_keys_of_the_endpoint_and_with_those_of_the_environment() {
    let provider = OpenIdProvider::start();
    for (lines, method) in [("", "container-role"), ("exec = \"aws-keys\"\n", "env")] {
        let sts = Sts::start(&provider);
        let table = format!("[provider.prod]\nidentity = \"job\"\nissuer = \"aws\"\n{lines}");
        let (mut user, _) = user_with(&provider, sts::AUDIENCE, &(sts.issuer("aws", "") + &table));
        user.home.set("AWS_ENDPOINT_URL", sts.address());
        user.home.set("AWS_REGION", sts::REGION);
        if method == "container-role" {
            user.home.set("http_proxy", DEAD_PROXY);
        }
        user.home.set("AWS_DEFAULT_REGION", sts::REGION);
        let told = python(&user, "prod", BOTO3).stdout;
        assert!(
            told.starts_with("arn:aws:sts::123456789012:assumed-role/build/")
                && told.ends_with(&format!(" {method}\n")),
            "{told}"
        );
        let calls = sts.asked("GetCallerIdentity");
        assert!(calls.len() == 1 && calls[0].refused.is_empty(), "{calls:?}");
        for secret in sts.secrets() {
            user.canary.watch("secret of AWS", secret);
        }
        // Keys are in the environment where the settings say so, and nowhere else.
        if method == "env" {
            user.canary.allow_variable("AWS_SECRET_ACCESS_KEY");
            user.canary.allow_variable("AWS_SESSION_TOKEN");
        }
        user.canary.check(&user.home);
    }
}

/// Entra's authority, as far as a client assertion is exchanged at it, and azure-identity with an assertion that comes as
/// go-azure-sdk fetches it: GET, the audience in the query unless there is one, the bearer in its header.
const AZURE: &str = r#"
import json, os, ssl, sys, threading, urllib.parse, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from azure.identity import ClientAssertionCredential
tenant, exchanged, fetched = os.environ["ARM_TENANT_ID"], [], []
class Authority(BaseHTTPRequestHandler):
    def answer(self, body):
        body = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        base = "https://" + self.headers["Host"] + "/" + tenant
        self.answer({"issuer": base + "/v2.0", "token_endpoint": base + "/oauth2/v2.0/token", "authorization_endpoint": base + "/authorize"})
    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        exchanged.append({name: value[0] for name, value in form.items()} | {"path": self.path})
        self.answer({"access_token": "of-entra-%d" % len(exchanged), "token_type": "Bearer", "expires_in": 0})
    def log_message(self, *_):
        pass
server = HTTPServer(("127.0.0.1", 0), Authority)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("authority.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()

def assertion():
    url = urllib.parse.urlsplit(os.environ["ARM_OIDC_REQUEST_URL"])
    query = dict(urllib.parse.parse_qsl(url.query))
    query.setdefault("audience", "api://AzureADTokenExchange")
    request = urllib.request.Request(url._replace(query=urllib.parse.urlencode(query)).geturl())
    request.add_header("Accept", "application/json")
    request.add_header("Authorization", "Bearer " + os.environ["ARM_OIDC_REQUEST_TOKEN"])
    with urllib.request.urlopen(request) as answer:
        fetched.append(answer.status)
        return json.load(answer)["value"]

credential = ClientAssertionCredential(tenant, os.environ["ARM_CLIENT_ID"], assertion, authority="https://127.0.0.1:%d" % server.server_port,
                                       disable_instance_discovery=True, connection_verify="authority.ca.pem")
# A token that is over is not used again: the second call is another exchange.
tokens = [credential.get_token("https://management.azure.com/.default").token for _ in range(2)]
print(json.dumps({"tokens": tokens, "fetched": fetched, "exchanged": exchanged}))
"#;

#[test]
fn azure_identity_exchanges_the_assertion_that_the_endpoint_answers_and_fetches_it_for_each_exchange() {
    let (provider, authority) = (OpenIdProvider::start(), Authority::new("entra.example"));
    let client = "6f1c0de0-0000-4000-8000-000000000001";
    let tables = format!(
        "[issuer.ad]\nkind = \"azure\"\ntenant = \"corp.example\"\nclient_id = \"{client}\"\n\n\
         [provider.ad]\nidentity = \"job\"\nissuer = \"ad\"\n"
    );
    let (mut user, token) = user_with(&provider, "api://AzureADTokenExchange", &tables);
    let server = authority.server(&["127.0.0.1"]);
    let own = user.home.write("authority.pem", format!("{}{}", server.key, server.certificate));
    user.canary.allow_file(own);
    user.home.write("authority.ca.pem", authority.certificate());
    let told = python(&user, "ad", AZURE).json();
    assert_eq!(told["tokens"], json!(["of-entra-1", "of-entra-2"]));
    assert_eq!(told["fetched"], json!([200, 200]));
    for exchange in told["exchanged"].as_array().expect("exchanges") {
        assert!(exchange["client_assertion"] == json!(token), "another assertion");
        assert_eq!(exchange["client_id"], client);
        assert_eq!(exchange["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        assert_eq!(exchange["grant_type"], "client_credentials");
        assert_eq!(exchange["path"], "/corp.example/oauth2/v2.0/token");
    }
    user.canary.check(&user.home);
}

/// Shows what is in its environment to a server, as the Kubernetes provider does: from memory.
const NODE: &str = r#"
import https from "node:https";
import { readFileSync } from "node:fs";
const [cert, key] = [process.env.KUBE_CLIENT_CERT_DATA, process.env.KUBE_CLIENT_KEY_DATA];
const [url, ca] = process.argv.slice(2);
https.get(url, { cert, key, ca: readFileSync(ca) }, (answer) => {
  console.log(answer.statusCode + "\n" + key);
  answer.resume();
});
"#;

#[test]
fn a_client_certificate_is_in_the_environment_as_the_kubernetes_provider_reads_it() {
    let company = Company::found();
    let inside = "location = /api { return 200 'in'; }\n";
    let api = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(inside).start();
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 600));
    let table = "[provider.prod]\nidentity = \"job\"\nissuer = \"registry-cert\"\n";
    user.settings(&(file_identity(&token) + &company.issuer() + table));
    let program = user.home.write("client.mjs", NODE);
    let run = exec(&user, "prod", &["node"]).arg(program).arg(format!("{}/api", api.address())).arg(api.ca_file());
    let told = run.output().success().stdout;
    let (status, key) = told.split_once('\n').expect("two lines");
    assert_eq!(status, "200");
    let seen = api.requests().into_iter().find(|request| request.path == "/api").expect("a request");
    assert!(seen.verify == "SUCCESS" && seen.subject.contains("alice@corp.example"), "{seen:?}");
    user.canary.watch_pem("client private key", key);
    user.canary.allow_variable("KUBE_CLIENT_KEY_DATA");
    user.canary.check(&user.home);
}
