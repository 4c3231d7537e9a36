//! A provisioner of Coder as its image and its chart make one: the files of `packaging/coder`, a user of its own, no home to speak of.
//! What is its company's comes in, for addresses and paths of the files alone; runs of the real terraform go out, with the environment that Coder gives them.
//! A fake, because Coder itself needs a database and a cluster; what it sets is what `provision.go` sets. Writes below the home alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::canary::Canary;
use crate::home::{Home, executable};
use crate::peer::{repository, search_path};
use crate::run::{Output, Run};

/// The variable that has the owner's token.
pub const OWNERS_TOKEN: &str = "CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN";

/// The user number of Coder's image.
const USER: u32 = 1000;

/// How long anything may take here.
const DEADLINE: Duration = Duration::from_secs(180);

/// All that Coder sets for plan and apply and that is empty where it has nothing; `init` gets none of it.
const ALWAYS_SET: [&str; 20] = [
    "CODER_AGENT_URL",
    "CODER_WORKSPACE_TRANSITION",
    "CODER_WORKSPACE_NAME",
    "CODER_WORKSPACE_OWNER",
    "CODER_WORKSPACE_OWNER_EMAIL",
    "CODER_WORKSPACE_OWNER_NAME",
    OWNERS_TOKEN,
    "CODER_WORKSPACE_OWNER_GROUPS",
    "CODER_WORKSPACE_OWNER_SSH_PUBLIC_KEY",
    "CODER_WORKSPACE_OWNER_SSH_PRIVATE_KEY",
    "CODER_WORKSPACE_OWNER_LOGIN_TYPE",
    "CODER_WORKSPACE_OWNER_RBAC_ROLES",
    "CODER_WORKSPACE_ID",
    "CODER_WORKSPACE_OWNER_ID",
    "CODER_WORKSPACE_OWNER_SESSION_TOKEN",
    "CODER_WORKSPACE_TEMPLATE_ID",
    "CODER_WORKSPACE_TEMPLATE_NAME",
    "CODER_WORKSPACE_TEMPLATE_VERSION",
    "CODER_WORKSPACE_BUILD_ID",
    "CODER_TASK_ID",
];

/// A job of the provisioner.
pub struct Job {
    directory: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Job {
    fn set(mut self, name: &'static str, value: &str) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.to_owned()));
        self
    }
}

/// A provisioner.
pub struct Provisioner {
    /// What it may write to.
    pub home: Home,
    /// What must not be seen anywhere.
    pub canary: Canary,
    /// Whether its programs run as the user of Coder's image; where the story is not root they run as whoever runs it.
    pub is_other_user: bool,
}

impl Provisioner {
    /// Installs it: each file of `packaging/coder/etc` and the wrapper, with pieces of their text replaced, and nothing else.
    ///
    /// # Panics
    /// When a piece is in none of the files.
    #[must_use]
    pub fn install(replaced: &[(&str, String)]) -> Self {
        let mut home = Home::new();
        let root = home.root().to_owned();
        let programs = executable("credmint").parent().map(|path| path.display().to_string()).unwrap_or_default();
        let mut replaced = replaced.to_vec();
        replaced.push(("/opt/credmint/", format!("{programs}/")));
        replaced.push(("/usr/local/bin/terraform", real_terraform()));
        let mut missing: Vec<&str> = replaced.iter().map(|(piece, _)| *piece).collect();
        for file in ["etc/config.toml", "etc/aws", "etc/google.json", "etc/vault", "bin/terraform"] {
            let mut text = fs::read_to_string(packaging().join(file)).expect("a file of packaging/coder");
            missing.retain(|piece| !text.contains(piece));
            replaced.iter().for_each(|(piece, value)| text = text.replace(piece, value));
            place(&root.join(file), &text, if file.starts_with("bin") { 0o755 } else { 0o644 });
        }
        assert!(missing.is_empty(), "nowhere in packaging/coder: {missing:?}");
        let etc = |name: &str| root.join("etc").join(name);
        home.set("PATH", format!("{}:{programs}:{}", root.join("bin").display(), search_path()));
        home.set("CREDMINT_CONFIG", etc("config.toml"));
        home.set("AWS_CONFIG_FILE", etc("aws"));
        home.set("GOOGLE_CREDENTIALS", etc("google.json"));
        home.set("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
        home.set("VAULT_CONFIG_PATH", etc("vault"));
        home.set("BAO_CONFIG_PATH", etc("vault"));
        home.set("TF_IN_AUTOMATION", "1");
        let mut canary = Canary::new();
        canary.allow_variable(OWNERS_TOKEN);
        // Of the run, by `exec = "gitlab"`.
        canary.allow_variable("GITLAB_TOKEN");
        let is_other_user = is_root(&root) && is_in_reach(Path::new(&programs));
        home.set("CREDMINT_SOCKET", home.runtime_directory().join("credmint/agent.sock"));
        home.unset("XDG_RUNTIME_DIR");
        let own = Self { home, canary, is_other_user };
        own.give_away();
        own
    }

    /// Lets the user have HOME, TMPDIR and builds; the runtime directory is what an emptyDir is: root's, and everybody may write to it.
    fn give_away(&self) {
        let root = self.home.root();
        fs::create_dir_all(root.join("builds")).expect("a directory for builds");
        if !self.is_other_user {
            return;
        }
        for directory in ["home", "tmp", "builds"] {
            chown(root.join(directory), Some(USER), Some(USER)).expect("another owner");
        }
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        mode(root, 0o755);
        mode(&root.join("run"), 0o777);
    }

    /// Puts a file of configuration where the provisioner may read it.
    pub fn place(&self, name: &str, text: &str) -> PathBuf {
        let file = self.home.root().join("etc").join(name);
        place(&file, text, 0o644);
        file
    }

    /// Begins a job with a template; every variable of Coder is set, and empty.
    #[must_use]
    pub fn job(&self, name: &str, template: &str) -> Job {
        let directory = self.home.root().join("builds").join(name);
        place(&directory.join("main.tf"), template, 0o644);
        if self.is_other_user {
            chown(&directory, Some(USER), Some(USER)).expect("another owner");
        }
        Job { directory, variables: ALWAYS_SET.iter().map(|name| (*name, String::new())).collect() }
            .set("CODER_AGENT_URL", "https://coder.corp.example")
            .set("CODER_WORKSPACE_TRANSITION", "start")
    }

    /// Begins the build of a workspace for its owner.
    #[must_use]
    pub fn build(&self, owner: &str, token: &str, transition: &str, template: &str) -> Job {
        let job = self.job(&format!("{owner}-{transition}"), template).set("CODER_WORKSPACE_TRANSITION", transition);
        let job = job.set("CODER_WORKSPACE_OWNER", owner).set("CODER_WORKSPACE_NAME", "dev");
        let job = job.set("CODER_WORKSPACE_OWNER_EMAIL", &format!("{owner}@corp.example"));
        let job =
            job.set("CODER_WORKSPACE_OWNER_GROUPS", "[\"Everyone\"]").set("CODER_WORKSPACE_OWNER_LOGIN_TYPE", "oidc");
        job.set("CODER_WORKSPACE_BUILD_ID", "5d1f0c1e-0000-4000-8000-000000000001").set(OWNERS_TOKEN, token)
    }

    /// Begins a program as the provisioner's user, without what Coder sets for a job.
    #[must_use]
    pub fn run(&self, program: &str) -> Run<'_> {
        let program = if program.starts_with("credmint") {
            executable(program).display().to_string()
        } else {
            program.to_owned()
        };
        if !self.is_other_user {
            return self.home.run(program).deadline(DEADLINE);
        }
        let (user, group) = (format!("--reuid={USER}"), format!("--regid={USER}"));
        let run =
            self.home.run("setpriv").args([user, group]).args(["--clear-groups", "--no-new-privs", "--", &program]);
        run.deadline(DEADLINE)
    }

    /// Begins the wrapper in a job's directory; `init` and `show` get nothing of the job.
    #[must_use]
    pub fn begin(&self, job: &Job, arguments: &[&str]) -> Run<'_> {
        let wrapper = self.home.root().join("bin/terraform");
        self.begin_program(&wrapper.display().to_string(), job, arguments)
    }

    /// Begins the real terraform, as where nobody installed the wrapper.
    #[must_use]
    pub fn bare(&self, job: &Job, arguments: &[&str]) -> Run<'_> {
        self.begin_program(&real_terraform(), job, arguments)
    }

    fn begin_program(&self, program: &str, job: &Job, arguments: &[&str]) -> Run<'_> {
        let mut run = self.run(program).args(arguments.iter().copied()).in_directory(&job.directory);
        if matches!(arguments.first(), Some(&("plan" | "apply"))) {
            for (name, value) in &job.variables {
                run = run.env(name, value.as_str());
            }
        }
        run
    }

    /// Runs it.
    #[must_use]
    pub fn terraform(&self, job: &Job, arguments: &[&str]) -> Output {
        self.begin(job, arguments).output()
    }

    /// Runs `init` and `plan` as Coder does.
    #[must_use]
    pub fn plans(&self, job: &Job) -> Output {
        self.terraform(job, &["init", "-no-color", "-input=false"]).success();
        self.terraform(job, &["plan", "-no-color", "-input=false", "-refresh=true", "-out=terraform.tfplan"])
    }

    /// Runs `apply` of the plan, and `show`, whose JSON Coder is sent.
    #[must_use]
    pub fn applies(&self, job: &Job) -> Output {
        self.terraform(job, &["show", "-json", "-no-color", "terraform.tfplan"]).success();
        self.terraform(job, &["apply", "-no-color", "-auto-approve", "-input=false", "terraform.tfplan"])
    }

    /// Looks for every secret in state, plan, log and all files, and ends the agent.
    pub fn check(&self) {
        self.canary.check(&self.home);
        self.run("credmint").args(["agent", "stop"]).output().success();
    }
}

impl Drop for Provisioner {
    fn drop(&mut self) {
        // Another user's agent is not the home's to stop.
        if std::thread::panicking() {
            let _ = self.run("credmint").args(["agent", "stop"]).output();
        }
    }
}

fn real_terraform() -> String {
    let path = search_path();
    let mut files = path.split(':').map(|directory| format!("{directory}/terraform"));
    files.find(|file| Path::new(file).is_file()).unwrap_or_default()
}

/// Gives the directory of the files that are installed.
pub fn packaging() -> PathBuf {
    repository().join("packaging/coder")
}

fn place(file: &Path, text: &str, mode: u32) {
    let directory = file.parent().expect("a directory");
    fs::create_dir_all(directory).expect("its directory");
    fs::write(file, text).expect("a file");
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("its mode");
}

/// Tells whether whoever runs the story may run programs as somebody else.
fn is_root(directory: &Path) -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata(directory).expect("a directory")) == 0
}

/// Tells whether the user of Coder's image can run what is in a directory; below a home of root it cannot.
fn is_in_reach(programs: &Path) -> bool {
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={USER}"), "--clear-groups", "test", "-x"]).arg(programs.join("credmint"));
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
