//! A real Chromium without a window, opened by the program under test and driven by the kit.
//!
//! What goes out is a program to put into `browser` of the settings or into `$BROWSER`; the Chromium that it starts is spoken
//! to over two pipes in a directory of its own (the DevTools protocol, one JSON text a message, ended by a null byte), and is
//! ended with it. Where there is none, the test says so and is skipped; with `CI=true` it fails.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::encoding::from_base64;
use crate::home::Home;
use crate::run::Running;
use crate::{peer, processes};

const PATIENCE: Duration = Duration::from_secs(60);

/// A Chromium that is about to be opened, or is open.
pub struct Chromium {
    directory: TempDir,
    commands: File,
    messages: Receiver<Value>,
    count: u64,
    session: Option<String>,
}

impl Chromium {
    /// Prepares one. `None` means: skip the test, which has been said already.
    pub fn prepare() -> Option<Self> {
        let path = peer::search_path();
        if !path.split(':').any(|directory| PathBuf::from(directory).join("chromium").is_file()) {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "chromium is not on PATH, and CI=true");
            eprintln!("skipped: chromium is not on PATH");
            return None;
        }
        let directory = peer::directory();
        for pipe in ["commands", "messages"] {
            let made = Command::new("mkfifo").arg(directory.path().join(pipe)).status().expect("the program mkfifo");
            assert!(made.success(), "a pipe");
        }
        write_program(&directory);
        // Opened both ways a pipe waits for nobody.
        let open = |name| OpenOptions::new().read(true).write(true).open(directory.path().join(name)).expect("a pipe");
        let (commands, messages) = (open("commands"), listen(open("messages")));
        Some(Self { directory, commands, messages, count: 0, session: None })
    }

    /// Gives the program that opens it, with the address as its argument.
    pub fn program(&self) -> PathBuf {
        self.directory.path().join("open")
    }

    /// Sends a command to the page that is open, as soon as there is one, and gives the result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        if self.session.is_none() {
            self.attach();
        }
        self.send(method, parameters)
    }

    fn attach(&mut self) {
        let start = Instant::now();
        let page = loop {
            let targets = self.send("Target.getTargets", json!({}))["targetInfos"].clone();
            let pages = targets.as_array().into_iter().flatten().find(|target| target["type"] == "page");
            if let Some(page) = pages {
                break page["targetId"].clone();
            }
            assert!(start.elapsed() < PATIENCE, "Chromium has no page");
            std::thread::sleep(Duration::from_millis(50));
        };
        let attached = self.send("Target.attachToTarget", json!({ "targetId": page, "flatten": true }));
        self.session = attached["sessionId"].as_str().map(ToOwned::to_owned);
        self.send("Page.enable", json!({}));
    }

    fn send(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let mut command = json!({ "id": self.count, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("Chromium takes commands");
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if message["id"] == self.count {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    /// Gives what an expression is on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }))["result"]["value"]
            .clone()
    }

    /// Waits until an expression is true on the page; a page on its way to the next one has no answer.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(&format!("document.readyState == 'complete' && !!({expression})")) != true {
            assert!(
                start.elapsed() < PATIENCE,
                "not so on {}: {expression}",
                self.value("location.origin + document.title")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types into a field of the page, found by its name.
    pub fn fill(&mut self, name: &str, text: &str) {
        self.wait_for(&format!("document.querySelector('[name={name}]')"));
        self.value(&format!("document.querySelector('[name={name}]').focus()"));
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Presses what a selector finds.
    pub fn press(&mut self, selector: &str) {
        self.wait_for(&format!("document.querySelector('{selector}')"));
        self.value(&format!("document.querySelector('{selector}').click()"));
    }

    /// Opens it without any page; then [`Chromium::show`] has something to show.
    pub fn open<'home>(&self, home: &'home Home) -> Running<'home> {
        home.run(self.program()).arg("about:blank").start()
    }

    /// Shows a page that was not fetched from anywhere.
    pub fn show(&mut self, html: &str) {
        let frames = self.call("Page.getFrameTree", json!({}));
        let frame = &frames["frameTree"]["frame"]["id"];
        self.call("Page.setDocumentContent", json!({ "frameId": frame, "html": html }));
        self.wait_for("document.body");
    }

    /// Takes a picture as `target/screenshots/<name>.png`, in light or dark, of a window or a phone; gives the file.
    pub fn picture(&mut self, name: &str, is_dark: bool, is_phone: bool) -> PathBuf {
        self.sized(if is_phone { (390, 780) } else { (960, 600) }, is_phone);
        self.taken(name, is_dark)
    }

    /// Takes a picture of the whole page, at this width and as high as the page is.
    pub fn whole_picture(&mut self, name: &str, is_dark: bool, width: u16) -> PathBuf {
        self.sized((width, 1), width < 480);
        let height = self.value("document.documentElement.scrollHeight").as_u64().unwrap_or(1);
        self.sized((width, height), width < 480);
        self.taken(name, is_dark)
    }

    fn sized(&mut self, (width, height): (u16, u64), is_phone: bool) {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", screen);
    }

    fn taken(&mut self, name: &str, is_dark: bool) -> PathBuf {
        let scheme = json!({ "name": "prefers-color-scheme", "value": if is_dark { "dark" } else { "light" } });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [scheme] }));
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = from_base64(picture["data"].as_str().expect("a picture"));
        let directory = peer::repository().join("target/screenshots");
        fs::create_dir_all(&directory).expect("a directory for pictures");
        let file = directory.join(format!("{name}.png"));
        fs::write(&file, bytes).expect("the picture");
        file
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let own = processes::of_directory(self.directory.path());
        own.into_iter().for_each(|process| processes::end(process.pid));
    }
}

/// The program opens the address in a Chromium with a profile of its own, and speaks on descriptors 3 and 4.
fn write_program(directory: &TempDir) {
    let path = directory.path().display();
    let options = "--headless=new --no-sandbox --no-first-run --disable-gpu --disable-dev-shm-usage \
                   --disable-background-networking --remote-debugging-pipe";
    let script = format!(
        "#!/bin/sh\nexport HOME={path} XDG_RUNTIME_DIR={path} TMPDIR={path}\n\
         exec chromium {options} --user-data-dir={path}/profile \"$1\" 3<{path}/commands 4>{path}/messages >{path}/log 2>&1\n"
    );
    let program = directory.path().join("open");
    fs::write(&program, script).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("a program that may run");
}

/// Reads messages in the background until the pipe ends with the Chromium that holds it.
fn listen(pipe: File) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(pipe).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { continue };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}
