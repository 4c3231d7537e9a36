//! Each case of the CLI configuration's text: what is added, what is kept, and that removal gives back every byte.

use super::*;

fn host() -> Hostname {
    Hostname::from_comparison_form("registry.corp.example").expect("a hostname")
}

fn services() -> Services {
    Services::on_bridge(&host(), 7_411)
}

fn added(text: &str) -> String {
    let new = add(text, &host(), Some(&services())).expect("edits");
    assert_eq!(add(&new, &host(), Some(&services())).as_ref(), Ok(&new), "the second time changes nothing");
    assert_eq!(remove(&new, &host(), false).as_deref(), Ok(text), "removal gives back every byte");
    new
}

const BLOCKS: &str = r#"# Written by `credmint setup`; it goes when the last host goes.
credentials_helper "credmint" {}

# Written by `credmint setup`; `credmint setup registry.corp.example --remove` takes it out again.
host "registry.corp.example" {
  services = {
    "modules.v1"   = "http://127.0.0.1:7411/registry.corp.example/v1/modules/"
    "providers.v1" = "http://127.0.0.1:7411/registry.corp.example/v1/providers/"
  }
}
"#;

#[test]
fn empty_file_gets_both_blocks() {
    assert_eq!(added(""), BLOCKS);
    assert_eq!(added("\n"), format!("\n\n{BLOCKS}"));
}

#[test]
fn new_file_is_bare_again_after_removal() {
    let new = added(&new_file());
    assert_eq!(new, format!("# CLI configuration, made by `credmint setup`.\n\n{BLOCKS}"));
    assert!(is_bare(&remove(&new, &host(), false).expect("removes")) && !is_bare(&new) && !is_bare(""));
}

#[test]
fn comments_and_other_blocks_are_kept() {
    let text = "// mine\nplugin_cache_dir = \"$HOME/.cache\" # here\n/* long\n   comment */\ncredentials \"app.terraform.io\" {\n\ttoken=\"x\"\n}\nhost \"other.example\" {\n  services = { \"modules.v1\" = \"https://x/\" }\n}\n# last\n";
    assert_eq!(added(text), format!("{text}\n{BLOCKS}"));
}

#[test]
fn file_without_newline_at_its_end_gets_it_back_that_way() {
    assert_eq!(added("disable_checkpoint = true"), format!("disable_checkpoint = true\n{BLOCKS}"));
    added("# only a comment");
}

#[test]
fn crlf_stays_crlf() {
    let text = "# mine\r\ndisable_checkpoint = true\r\n";
    let new = added(text);
    assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
    assert_eq!(new, format!("{text}\r\n{}", BLOCKS.replace('\n', "\r\n")));
}

#[test]
fn broken_file_is_an_error_with_its_place() {
    let error = add("disable_checkpoint = true\nhost \"a\" {\n", &host(), Some(&services()));
    assert!(matches!(error, Err(EditError::Broken { line: 2 | 3, .. })), "{error:?}");
    assert!(matches!(remove("}", &host(), false), Err(EditError::Broken { line: 1, column: 1, .. })));
}

#[test]
fn other_helper_is_an_error() {
    let text = "# mine\ncredentials_helper \"vault\" {\n  args = []\n}\n";
    let expected = EditError::OtherHelper { line: 2, label: "vault".into() };
    assert_eq!(add(text, &host(), Some(&services())), Err(expected));
    assert_eq!(other_helper(text), Some((2, "vault".into())));
}

#[test]
fn a_persons_own_blocks_are_taken_as_they_are_and_never_removed() {
    let text = format!(
        "credentials_helper \"credmint\" {{\n  args = []\n}}\n{}\n",
        services().block(&host()).replace("registry.corp.example\" {", "Registry.Corp.Example:443\" {")
    );
    assert_eq!(add(&text, &host(), Some(&services())).as_ref(), Ok(&text));
    assert_eq!(remove(&text, &host(), false).as_ref(), Ok(&text));
}

#[test]
fn a_persons_own_block_for_another_address_is_an_error() {
    let text = "host \"registry.corp.example\" {\n  services = { \"modules.v1\" = \"https://x/\" }\n}\n";
    assert_eq!(add(text, &host(), Some(&services())), Err(EditError::OtherHost { line: 1 }));
}

#[test]
fn our_block_follows_the_port() {
    let old = added("# mine\n");
    let new = add(&old, &host(), Some(&Services::on_bridge(&host(), 9_000))).expect("edits");
    assert_eq!(new, old.replace(":7411/", ":9000/"));
    assert_eq!(remove(&new, &host(), false).as_deref(), Ok("# mine\n"));
}

#[test]
fn our_block_with_a_persons_service_in_it_is_not_overwritten() {
    let old = added("").replace("  }\n}", "    \"tfe.v2\" = \"https://x/\"\n  }\n}");
    assert_eq!(add(&old, &host(), Some(&services())).as_ref(), Ok(&old));
    let moved = add(&old, &host(), Some(&Services::on_bridge(&host(), 9_000)));
    assert_eq!(moved, Err(EditError::OtherHost { line: 5 }));
}

#[test]
fn hosts_come_and_go_in_any_order() {
    let other = Hostname::from_comparison_form("mirror.corp.example:8443").expect("a hostname");
    for text in ["", "# mine", "# mine\n"] {
        let one = added(text);
        let both = add(&one, &other, Some(&Services::on_bridge(&other, 7_411))).expect("edits");
        let rest = remove(&both, &host(), false).expect("removes");
        assert!(names_our_helper(&rest) && rest.contains("mirror.corp.example:8443") && !rest.contains("registry"));
        assert_eq!(remove(&rest, &other, false).as_deref(), Ok(text));
        assert_eq!(remove(&both, &other, false).as_ref(), Ok(&one));
    }
}

#[test]
fn helper_stays_for_hosts_that_need_no_block() {
    let token_only = add("", &host(), None).expect("edits");
    assert!(names_our_helper(&token_only) && !token_only.contains("host \""));
    assert_eq!(remove(&token_only, &host(), true).as_ref(), Ok(&token_only));
    assert_eq!(remove(&token_only, &host(), false).as_deref(), Ok(""));
    assert_eq!(add(&added(""), &host(), None).as_ref(), Ok(&token_only), "a block that is not needed any more goes");
}

#[test]
fn credentials_block_that_hides_the_helper_is_seen() {
    assert_eq!(shadow("\ncredentials \"Registry.corp.example\" {\n}\n", &host()), Some(2));
    assert_eq!(shadow("credentials \"app.terraform.io\" {\n}\n", &host()), None);
}

#[test]
fn the_login_service_is_added_kept_however_it_is_laid_out_and_taken_out() {
    let with = services().with_login(&host(), 7_411);
    let old = add("", &host(), Some(&services())).expect("edits");
    let new = add(&old, &host(), Some(&with)).expect("edits");
    let line = r#""login.v1"     = { authz = "http://127.0.0.1:7411/registry.corp.example/.login/authorize", client = "terraform-cli", grant_types = ["authz_code"], ports = [10000, 10050], token = "http://127.0.0.1:7411/registry.corp.example/.login/token" }"#;
    assert!(new.contains(line), "{new}");
    assert_eq!(add(&new, &host(), Some(&with)).as_ref(), Ok(&new), "the second time changes nothing");
    let other_layout = new
        .replace("{ authz", "{\n      authz")
        .replace("grant_types = [\"authz_code\"], ", "grant_types = [ \"authz_code\" ]\n  ");
    assert_eq!(add(&other_layout, &host(), Some(&with)).as_ref(), Ok(&other_layout));
    let moved = add(&new.replace("7411/registry.corp.example/.login/token", "1/x"), &host(), Some(&with));
    assert_eq!(moved.as_ref(), Ok(&new), "what leads elsewhere is mended");
    let any = services().with_any_login(true);
    assert_eq!(add(&new, &host(), Some(&any)).as_ref(), Ok(&new), "who looks on does not mind");
    assert_eq!(add(&new, &host(), Some(&services())).as_ref(), Ok(&old), "--no-login");
}

#[test]
fn a_host_block_of_somebody_else_is_not_given_a_login() {
    let text = services().block(&host()) + "\n";
    let new = add(&text, &host(), Some(&services().with_login(&host(), 7_411))).expect("edits");
    assert!(new.starts_with(&text) && !new.contains("login.v1"), "{new}");
}

#[test]
fn our_block_names_what_the_host_offers_and_keeps_it_when_the_host_cannot_be_asked() {
    let document = serde_json::json!({ "modules.v1": "/m/", "tfe.v2": "/api/", "versions.v1": "https://x.example/" });
    let document = serde_json::from_value(document).expect("an object");
    let offered = |port| Services::offered(&host(), port, &document);
    let old = added("");
    let new = add(&old, &host(), Some(&offered(7_411))).expect("edits");
    assert!(new.contains("/api/") && new.contains("https://x.example/") && !new.contains("providers.v1"), "{new}");
    assert_eq!(add(&new, &host(), Some(&offered(7_411))).as_ref(), Ok(&new), "the second time changes nothing");
    assert_eq!(add(&new, &host(), Some(&services())).as_ref(), Ok(&new), "not asked: what is there may be right");
    assert_eq!(remove(&new, &host(), false).as_deref(), Ok(""));
    let moved = add(&new, &host(), Some(&offered(9_000))).expect("edits");
    assert_eq!(moved, new.replace(":7411/", ":9000/"));
    let cannot = add(&new, &host(), Some(&Services::on_bridge(&host(), 9_000)));
    assert_eq!(cannot, Err(EditError::OtherHost { line: 5 }), "https://x.example/ may be somebody's own");
    let old = new.replace("    \"versions.v1\"  = \"https://x.example/\"\n", "");
    let cannot = add(&old, &host(), Some(&Services::on_bridge(&host(), 9_000)));
    assert_eq!(cannot, Ok(old.replace(":7411/", ":9000/")));
}
