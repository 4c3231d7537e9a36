//! bao: what a token helper may print, by a real `bao` before a real OpenBao; ours is held to it by `setup_provider` and the vectors.

use std::os::unix::fs::PermissionsExt;

use credmint_stories::User;
use credmint_test_kit::{OpenBao, peer};

#[test]
fn bao_takes_and_refuses_what_the_table_of_the_facts_says() -> std::io::Result<()> {
    let (bao, user) = (OpenBao::start(), User::move_in());
    let token = bao.token().to_owned();
    let stub = user
        .home
        .write("stub", "#!/bin/sh\ncat \"$HOME/printed\"; cat \"$HOME/said\" >&2; exit \"$(cat \"$HOME/status\")\"\n");
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o700))?;
    user.home.write(".bao", format!("token_helper = \"{}\"\n", stub.display()));
    for (name, printed, said, status, is_taken) in [
        ("whole", token.clone(), "", "0", true),
        ("a line break after", format!("{token}\n"), "", "0", false),
        ("blanks around", format!(" {token} "), "", "0", true),
        ("noise on stderr", token.clone(), "warning", "0", true),
        ("an exit status of 1", token.clone(), "no token today", "1", false),
        ("nothing", String::new(), "", "0", false),
        ("another token", "s.0123456789".to_owned(), "", "0", false),
    ] {
        for (file, text) in [("printed", printed.as_str()), ("said", said), ("status", status)] {
            user.home.write(file, text);
        }
        let run = user.home.run(peer::installed("bin/bao")).args(["token", "lookup", "-format=json"]);
        let told = run.env("BAO_ADDR", bao.address()).env("SHELL", "/bin/sh").answer().output();
        assert_eq!(told.code == Some(0), is_taken, "{name}: {}", told.stderr);
        // Why a helper failed is shown to the person.
        assert!(status == "0" || told.stderr.contains(said), "{}", told.stderr);
    }
    Ok(())
}
