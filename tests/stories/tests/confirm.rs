//! `confirm = true`: each use of a host's credential is allowed by a person, at the terminal or by a program, or refused.

use credmint_stories::{AS_IT_IS, Company, HOST, User, file_identity, person, terraform, token_host, wait_until};
use credmint_test_kit::home::executable;
use credmint_test_kit::run::Running;
use credmint_test_kit::{OpenIdProvider, Output, Run};

const QUESTION: &str = "Allow it? [y/N]";

/// A host that hands out a token of the provider as it is, after somebody allowed it.
fn move_in(provider: &OpenIdProvider, agent: &str) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&provider.token_for("alice", HOST, 300));
    let host = token_host("\"job\"", "as-it-is").trim_end().to_owned();
    user.settings(&(file_identity(&token) + AS_IT_IS + &host + "\nconfirm = true\n\n" + agent));
    user
}

fn at_a_terminal(run: Run<'_>) -> Running<'_> {
    run.terminal().typed().start()
}

/// Waits for the question and answers it; gives the question.
fn answers(mut run: Running<'_>, line: &str) -> (String, Output) {
    let asked = run.shows("a question", |text| text.contains(QUESTION).then(|| text.to_owned()));
    run.type_line(line);
    (asked, run.output())
}

fn is_refused(output: &Output, why: &str) {
    let said = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(said.contains(&format!("no credential for {HOST}")) && said.contains(why), "{said}");
}

#[test]
fn a_person_at_the_terminal_allows_each_use_or_does_not() {
    let provider = OpenIdProvider::start();
    let user = move_in(&provider, "");
    // 1. The question says who wants what; what was typed is no part of the answer but its `y`.
    let (asked, output) = answers(at_a_terminal(user.get()), "y");
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.contains("{\"token\":\""));
    assert!(asked.contains("terraform-crede (process "), "the kernel's name of the helper: {asked}");
    assert!(asked.contains(&format!("wants a credential for {HOST} as `job` (alice)")), "{asked}");
    // 2. It is kept and fresh, and asked about again. Enter is a no, and so are Ctrl-C and anything else.
    for no in ["", "n", "\u{3}", "yesterday"] {
        let (_, output) = answers(at_a_terminal(user.get()), no);
        is_refused(&output, "its use was not allowed (the answer was no)");
        assert!(!output.stdout.contains("{\"token\""));
    }
    // 3. What people look at needs nobody's leave.
    user.credmint(&["explain", HOST]);
    user.credmint(&["status"]);
    user.canary.check(&user.home);
}

#[test]
fn without_a_terminal_nothing_is_handed_out_and_an_agent_for_one_request_is_no_way_around() {
    let provider = OpenIdProvider::start();
    let mut user = move_in(&provider, "");
    for mode in ["auto", "once"] {
        user.home.set("CREDMINT_AGENT", mode);
        let output = user.get().output();
        is_refused(&output, "each use has to be allowed by a person, and there is no terminal to ask at");
        assert!(output.stderr.contains("hint: run it in front of a terminal, or name a program"), "{}", output.stderr);
        assert!(output.stdout.is_empty());
        let (asked, output) = answers(at_a_terminal(user.get()), "y");
        assert_eq!(output.code, Some(0), "{}", output.stdout);
        assert!(asked.contains("terraform-crede (process "), "{asked}");
    }
    user.canary.check(&user.home);
}

#[test]
fn a_program_of_the_settings_asks_with_the_desktop_of_the_caller() {
    let provider = OpenIdProvider::start();
    let script =
        "printf '%s\\n' \"$1\" \"$2\" \"$DISPLAY\" \"$SSH_ASKPASS_PROMPT\" \"$WORKLOAD_TOKEN\" >>asked; exec ./answer";
    let mut user = move_in(&provider, "");
    let directory = user.home.path();
    let ask = |words: &str| format!("[agent]\nask = [\"/bin/sh\", \"-c\", {words:?}, \"sh\", \"--title\"]\n");
    let script = script.replace("asked", &directory.join("asked").display().to_string());
    let script = script.replace("./answer", &format!("/bin/sh {}", directory.join("answer").display()));
    user.home.write(".config/credmint/config.d/ask.toml", ask(&script));
    user.home.set("DISPLAY", ":42");
    // 1. A program that is not there is told, and is no yes.
    let own = user.home.read(".config/credmint/config.d/ask.toml");
    user.home.write(".config/credmint/config.d/ask.toml", "[agent]\nask = [\"/no/such/askpass\"]\n");
    is_not_there(&user.get().output());
    // 2. Yes; the sentence is its last argument, and nobody needs a terminal.
    user.home.write(".config/credmint/config.d/ask.toml", own);
    user.home.write("answer", "exit 0");
    assert!(!user.got("token").is_empty());
    let asked = user.home.read("asked");
    let lines: Vec<&str> = asked.lines().collect();
    assert_eq!((lines[0], lines[2], lines[3], lines[4]), ("--title", ":42", "confirm", ""), "{asked}");
    assert!(lines[1].ends_with(&format!("wants a credential for {HOST} as `job` (alice). Allow it?")), "{asked}");
    // 3. No, with the same entry kept, from another display. Who asks again at once is told the same.
    user.home.set("DISPLAY", ":43");
    user.home.write("answer", "exit 1");
    for _ in 0..3 {
        is_refused(&user.get().output(), "its use was not allowed (the answer was no: ");
    }
    assert_eq!(user.home.read("asked").matches(":43").count(), 1);
    assert_eq!(user.credmint(&["status", "--json"]).json()["agent"]["entries"].as_array().map(Vec::len), Some(1));
    user.canary.check(&user.home);
}

#[test]
fn two_at_one_terminal_are_asked_one_after_the_other_and_a_no_is_for_the_whole_run() {
    let provider = OpenIdProvider::start();
    let user = move_in(&provider, "");
    let helper = executable("terraform-credentials-credmint");
    let get = format!("{} get {HOST} &", helper.display());
    let both = || at_a_terminal(user.home.run("/bin/sh").args(["-c", &format!("{get} {get} wait")]).answer());
    let times = |text: &str, what: &str| text.matches(what).count();
    // 1. Each is asked for its own yes, when the one before has its answer.
    let mut run = both();
    run.shows("the first question", |text| text.contains(QUESTION).then_some(()));
    run.type_line("y");
    let text = run.shows("the second question", |text| (times(text, QUESTION) == 2).then(|| text.to_owned()));
    let between = text.split(QUESTION).nth(1).unwrap_or_default();
    assert!(between.starts_with(" y\r\n"), "the first had its answer by then: {text}");
    run.type_line("y");
    assert_eq!(times(&run.output().stdout, "{\"token\""), 2);
    // 2. Who said no is left alone.
    let (_, output) = answers(both(), "n");
    assert_eq!(times(&output.stdout, QUESTION), 1, "{}", output.stdout);
    assert!(times(&output.stdout, "its use was not allowed") >= 2 && times(&output.stdout, "{\"token\"") == 0);
    user.canary.check(&user.home);
}

fn is_not_there(output: &Output) {
    assert_eq!(output.code, Some(78), "{}", output.stderr);
    assert!(output.stderr.contains("the command `/no/such/askpass` does not start"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: put a program that asks into the settings"), "{}", output.stderr);
}

#[test]
fn a_program_that_hangs_blocks_nobody_and_ends_with_who_waits_for_it_oidc_agent_577() {
    let provider = OpenIdProvider::start();
    let user = move_in(&provider, "");
    let pid = user.home.path().join("pid");
    let script = format!("echo $$ >{}; sleep 600", pid.display());
    user.home
        .write(".config/credmint/config.d/ask.toml", format!("[agent]\nask = [\"/bin/sh\", \"-c\", {script:?}]\n"));
    let waits = user.get().start();
    wait_until("the program runs", || user.home.read("pid").ends_with('\n'));
    // 1. The agent answers everybody else meanwhile.
    assert!(user.credmint(&["status"]).took < std::time::Duration::from_secs(5));
    // 2. Who goes away takes it along, and it is reaped.
    drop(waits);
    let id: u32 = user.home.read("pid").trim().parse().expect("a process id");
    wait_until("the program is gone", || !std::path::Path::new(&format!("/proc/{id}")).exists());
    // 3. The next one is asked again: nobody said no.
    user.home.write("pid", "");
    let waits = user.get().start();
    wait_until("it runs again", || user.home.read("pid").ends_with('\n'));
    drop(waits);
    user.canary.check(&user.home);
}

#[test]
fn terraform_asks_once_for_a_whole_init_whatever_the_answer_is() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "confirm = true\n")));
    let init = || terraform.run(&user.home, &user.work, &["init", "-input=false", "-no-color"]);
    let questions = |output: &Output| output.stdout.matches(QUESTION).count();
    // 1. Nobody is signed in: nobody is asked to allow what will come to nothing.
    let output = init().terminal().output();
    assert!(questions(&output) == 0 && output.stdout.contains("credmint login me"), "{}", output.stdout);
    user.signs_in(&company.provider, "alice");
    // 2. No: Terraform asks its helper again and again, the person is asked once. Nothing was minted.
    let init = || terraform.run(&user.home, &user.work, &["init", "-input=false", "-no-color"]);
    let questions = |output: &Output| output.stdout.matches(QUESTION).count();
    let (asked, output) = answers(at_a_terminal(init()), "n");
    assert!(output.code != Some(0) && questions(&output) == 1, "{}", output.stdout);
    assert!(asked.contains("terraform (process ") && asked.contains("as `me` (alice"), "{asked}");
    assert_eq!(company.bao.logins().len(), 0);
    assert_eq!(company.registry.requests().len(), 0);
    // 3. Yes, at once after that: another run is another question, and one is enough for all its requests.
    let (_, output) = answers(at_a_terminal(init()), "y");
    assert!(output.code == Some(0) && questions(&output) == 1, "{}", output.stdout);
    assert!(output.stdout.contains("Terraform has been successfully initialized"), "{}", output.stdout);
    user.canary.check(&user.home);
}

#[test]
fn a_run_of_exec_is_no_way_around_the_question() {
    let Some(_) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let nowhere = "upstream = \"https://127.0.0.1:1\"\n";
    let other = company.host("job", nowhere).replace(HOST, "other.corp.example");
    let asked = company.host("job", "confirm = true\n");
    user.settings(&(file_identity(&token) + &company.issuer() + &asked + &other));
    let exec = |words: &[&str]| {
        let run = user.home.run(executable("credmint")).args(["exec", "--"]).args(words.iter().copied());
        run.in_directory(&user.work).env("TF_IN_AUTOMATION", "1").deadline(std::time::Duration::from_secs(120))
    };
    let said = format!("credmint: {HOST} is judged at each use (confirm, allow): Terraform asks its helper for it\n");
    // 1. The run has the other host; for this one there is neither a token nor another way than the person's own.
    let own = user.home.read(".terraformrc");
    let names = "cat \"$TF_CLI_CONFIG_FILE\"; env | grep -o '^TF_TOKEN[^=]*'";
    let output = exec(&["/bin/sh", "-c", names]).output().success();
    assert!(output.stderr.starts_with(&said), "{}", output.stderr);
    assert!(output.stdout.ends_with("\nTF_TOKEN_other_corp_example\n"), "{}", output.stdout);
    assert!(output.stdout.contains(own.trim()), "{} is not in {}", own, output.stdout);
    let shown = user.credmint(&["env"]);
    assert!(shown.stderr.starts_with(&said), "{}", shown.stderr);
    assert!(shown.stdout.contains("TF_TOKEN_other_corp_example") && !shown.stdout.contains("TF_TOKEN_registry"));
    // 2. Without a terminal nothing is made for it, and nothing reaches the host. The other one was asked for its services.
    let init = ["terraform", "init", "-input=false", "-no-color"];
    let made = company.bao.logins().len();
    assert_ne!(exec(&init).output().code, Some(0));
    assert_eq!((company.bao.logins().len(), company.registry.requests().len()), (made, 0));
    // 3. At a terminal the person is asked, once.
    let (_, output) = answers(at_a_terminal(exec(&init)), "y");
    assert!(output.stdout.contains("Terraform has been successfully initialized"), "{}", output.stdout);
    assert_eq!((output.code, output.stdout.matches(QUESTION).count()), (Some(0), 1), "{}", output.stdout);
    user.canary.check(&user.home);
}
