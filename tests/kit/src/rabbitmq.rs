//! A fake of RabbitMQ's management API, as far as OpenBao's engine asks it: users come and go.
//!
//! A fake, because the real one needs Erlang, and no test looks at a message. It takes a user with a password and tags, and permissions for
//! one that is there, from whoever has the administrator's password; anything else is an error of its own.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::arrived::Arrived;

type Users = Arc<Mutex<BTreeSet<String>>>;

/// A broker that knows its users.
pub struct RabbitMq {
    address: String,
    users: Users,
}

impl RabbitMq {
    /// Starts one without users.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let users = Users::default();
        let own = Arc::clone(&users);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                thread::spawn(move || answer(stream, &own));
            }
        });
        Self { address, users }
    }

    /// Gives its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Lists the users that are there.
    pub fn users(&self) -> Vec<String> {
        self.users.lock().expect("no panic").iter().cloned().collect()
    }
}

fn answer(mut stream: TcpStream, users: &Users) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    // admin:word
    let knows = arrived.header("authorization") == "Basic YWRtaW46d29yZA==";
    let status = if knows { judge(&arrived, users) } else { "401 Unauthorized" };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

fn judge(arrived: &Arrived, users: &Users) -> &'static str {
    let mut users = users.lock().expect("no panic");
    let json: serde_json::Value = serde_json::from_slice(&arrived.body).unwrap_or_default();
    let words: Vec<&str> = std::iter::once(arrived.method.as_str()).chain(arrived.target.split('/')).collect();
    match words.as_slice() {
        ["PUT", "", "api", "users", name, ..] if json["password"].is_string() && json["tags"].is_string() => {
            users.insert((*name).to_owned());
            "201 Created"
        }
        ["PUT", "", "api", "permissions", _, name, ..] if users.contains(*name) && json["read"].is_string() => {
            "201 Created"
        }
        ["DELETE", "", "api", "users", name, ..] if users.remove(*name) => "204 No Content",
        _ => "404 Not Found",
    }
}
