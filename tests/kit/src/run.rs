//! One run of a program in a [`Home`].
//!
//! Arguments, input and a deadline come in; exit code, stdout and stderr go out, and are recorded for the canary together
//! with every process that was seen below it. A program that outlives its deadline is ended by its id.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::home::{Home, Recording};
use crate::processes;

/// A program that is about to run.
pub struct Run<'home> {
    home: &'home Home,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    input: Option<Vec<u8>>,
    is_asked: bool,
    deadline: Duration,
    is_answer: bool,
    has_terminal: bool,
    size: Option<(u16, u16)>,
}

/// What a program did.
#[derive(Debug)]
pub struct Output {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr.
    pub stderr: String,
    /// How long it ran.
    pub took: Duration,
    /// Whether it was ended because its deadline was over.
    pub timed_out: bool,
    /// Whether something it left behind kept stdout or stderr open: Terraform would wait for that.
    pub pipe_held: bool,
}

impl Output {
    /// Reads stdout as JSON.
    pub fn json(&self) -> serde_json::Value {
        let Self { stdout, stderr, .. } = self;
        serde_json::from_str(stdout)
            .unwrap_or_else(|_| panic!("stdout is not JSON ({} bytes); stderr: {stderr}", stdout.len()))
    }

    /// Panics with stderr if the program failed.
    pub fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "stderr: {}", self.stderr);
        self
    }
}

/// A program that runs.
pub struct Running<'home> {
    run: Run<'home>,
    child: Child,
    start: Instant,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    /// What was read already of stdout and of stderr.
    shown: [Vec<u8>; 2],
    is_over: bool,
}

impl<'home> Run<'home> {
    pub(crate) fn new(home: &'home Home, program: PathBuf) -> Self {
        let deadline = Duration::from_secs(60);
        Self {
            home,
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            input: None,
            is_asked: false,
            deadline,
            is_answer: false,
            has_terminal: false,
            size: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable for this run.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Takes a variable away for this run.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Runs it in a directory; HOME if none is set.
    #[must_use]
    pub fn in_directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Writes this to its stdin; without it, stdin is the null device, as Terraform has it for `get`.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Keeps its stdin open for what is typed while it runs, by [`Running::type_line`].
    #[must_use]
    pub fn typed(mut self) -> Self {
        self.is_asked = true;
        self
    }

    /// Ends it after this time; a minute if none is set.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Marks stdout as the answer: the one place where a secret belongs.
    #[must_use]
    pub fn answer(mut self) -> Self {
        self.is_answer = true;
        self
    }

    /// Gives it a terminal of its own, as a person has one: what is written to the terminal by whomever is in stdout then,
    /// and so is stderr. By the program `script` of util-linux.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.has_terminal = true;
        self
    }

    /// Gives it a terminal of so many columns and lines, on which it can draw.
    #[must_use]
    pub fn terminal_of(mut self, columns: u16, lines: u16) -> Self {
        self.size = Some((columns, lines));
        self.terminal()
    }

    fn command(&self) -> Command {
        if !self.has_terminal {
            let mut command = Command::new(&self.program);
            command.args(&self.arguments);
            return command;
        }
        let words = [self.program.as_os_str()].into_iter().chain(self.arguments.iter().map(OsString::as_os_str));
        let line: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        let size =
            self.size.map(|(columns, lines)| format!("stty cols {columns} rows {lines}; exec ")).unwrap_or_default();
        let line = size + &line.join(" ");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
        command
    }

    /// Runs it to its end.
    pub fn output(self) -> Output {
        self.start().output()
    }

    /// Starts it and goes on.
    pub fn start(self) -> Running<'home> {
        let mut command = self.command();
        command.env_clear().envs(self.home.environment());
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(self.directory.clone().unwrap_or_else(|| self.home.path()));
        let is_piped = self.input.is_some() || self.is_asked;
        command.stdin(if is_piped { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("{} does not start: {error}", self.program.display()));
        if let Some(input) = self.input.clone()
            && let Some(mut stdin) = child.stdin.take()
        {
            // A program that does not read its stdin is free to; the write then fails, which is no matter here.
            thread::spawn(move || stdin.write_all(&input));
        }
        let stdout = collect(child.stdout.take().expect("its stdout"));
        let stderr = collect(child.stderr.take().expect("its stderr"));
        Running { run: self, child, start, stdout, stderr, shown: Default::default(), is_over: false }
    }
}

impl Running<'_> {
    /// Gives its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until something can be found in what it prints, on stdout or stderr; a program that ends without it, or is
    /// not that far after half a minute, is a failure.
    #[track_caller]
    pub fn shows<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            self.look();
            let has_ended = self.child.try_wait().expect("a child to wait for").is_some();
            // What it printed before it ended may still be on its way through the pipes.
            thread::sleep(Duration::from_millis(if has_ended { 200 } else { 5 }));
            self.shown[0].extend(self.stdout.try_iter().flatten());
            self.shown[1].extend(self.stderr.try_iter().flatten());
            let text = self.shown.each_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            if let Some(found) = text.iter().find_map(|text| find(text)) {
                return found;
            }
            let is_late = start.elapsed() > Duration::from_secs(30);
            assert!(!is_late && !has_ended, "it does not show {what}: {}", text.join(""));
        }
    }

    /// Types a line into its stdin; only after [`Run::typed`].
    pub fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("a stdin that was kept open");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("the program reads its stdin");
    }

    /// Waits for its end and gives what it did.
    pub fn output(mut self) -> Output {
        let (status, timed_out) = self.wait();
        self.is_over = true;
        let took = self.start.elapsed();
        // What it printed is there at once, unless a process it left behind holds the pipe.
        let [shown_out, shown_err] = std::mem::take(&mut self.shown);
        let (stdout, held_out) = received(shown_out, &self.stdout);
        let (stderr, held_err) = received(shown_err, &self.stderr);
        self.run.home.record(Recording {
            program: format!("{} ({})", self.run.program.display(), self.pid()),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            is_answer: self.run.is_answer,
        });
        Output {
            code: status.code(),
            signal: status.signal(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            took,
            timed_out,
            pipe_held: held_out || held_err,
        }
    }

    fn wait(&mut self) -> (ExitStatus, bool) {
        loop {
            self.look();
            if let Some(status) = self.child.try_wait().expect("a child to wait for") {
                return (status, false);
            }
            if self.start.elapsed() > self.run.deadline {
                return (self.end(), true);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Keeps arguments and environments of the program and of what it started, for the canary.
    fn look(&self) {
        let mut pids = processes::descendants(self.pid());
        pids.push(self.pid());
        pids.into_iter().filter_map(processes::read).for_each(|process| self.run.home.see(process));
    }

    fn end(&mut self) -> ExitStatus {
        let below = processes::descendants(self.pid());
        processes::signal(self.pid(), rustix::process::Signal::TERM);
        if !processes::wait_for_end(self.pid(), Duration::from_secs(1)) {
            let _ = self.child.kill();
        }
        let status = self.child.wait().expect("a child to wait for");
        below.into_iter().for_each(processes::end);
        status
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.end();
        }
    }
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Reads a pipe in the background, piece by piece, so that what came is there even if its end never comes.
fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut buffer = [0_u8; 8192];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Gives what was read before and since, and whether the pipe is still open a second after its program ended.
fn received(mut bytes: Vec<u8>, pipe: &Receiver<Vec<u8>>) -> (Vec<u8>, bool) {
    use std::sync::mpsc::RecvTimeoutError;
    loop {
        match pipe.recv_timeout(Duration::from_secs(1)) {
            Ok(piece) => bytes.extend(piece),
            Err(error) => return (bytes, error == RecvTimeoutError::Timeout),
        }
    }
}
