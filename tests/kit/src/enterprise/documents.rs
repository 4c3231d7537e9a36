//! The documents of that Terraform Enterprise (its public API, as go-tfe reads it).
//!
//! One request and what has happened so far come in, a status, a media type and a body go out.

use serde_json::{Value, json};

use super::{Asked, LOGGED, ORGANISATION, Seen, WORKSPACE};
use crate::registry::HOST;

type Said = (u16, &'static str, Vec<u8>);

const JSON_API: &str = "application/vnd.api+json";

pub(super) fn answer(asked: &Asked, seen: &mut Seen) -> Said {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    if let Some(object) = path.strip_prefix("/_archivist/") {
        return stored(asked, object, query, seen);
    }
    let path = path.strip_prefix("/api/v2/").unwrap_or_default();
    let organisation = format!("organizations/{ORGANISATION}");
    match (asked.method.as_str(), path) {
        ("GET", "ping") => (204, JSON_API, Vec::new()),
        ("GET", path) if path == organisation => one("organizations", ORGANISATION, &json!({ "name": ORGANISATION })),
        ("GET", path) if path == format!("{organisation}/entitlement-set") => {
            let may = json!({ "operations": true, "state-storage": true, "teams": false, "vcs-integrations": false });
            one("entitlement-sets", ORGANISATION, &may)
        }
        ("GET", path) if path == format!("{organisation}/workspaces/{WORKSPACE}") => one_of(&workspace(seen)),
        ("GET", path) if path == format!("{organisation}/workspaces") => many(&[workspace(seen)]),
        ("GET", "workspaces/ws-1") => one_of(&workspace(seen)),
        ("POST", "workspaces/ws-1/actions/lock") => {
            seen.locked = true;
            one_of(&workspace(seen))
        }
        ("POST", "workspaces/ws-1/actions/unlock") => {
            seen.locked = false;
            one_of(&workspace(seen))
        }
        _ => of_a_run(asked, path, seen),
    }
}

fn of_a_run(asked: &Asked, path: &str, seen: &mut Seen) -> Said {
    match (asked.method.as_str(), path) {
        ("POST", "workspaces/ws-1/configuration-versions") | ("GET", "configuration-versions/cv-1") => {
            let status = if seen.uploaded { "uploaded" } else { "pending" };
            let attributes =
                json!({ "status": status, "upload-url": archivist("upload?expires=1"), "speculative": true });
            one("configuration-versions", "cv-1", &attributes)
        }
        ("POST", "runs") | ("GET", "runs/run-1") => one_of(&run()),
        (
            "GET",
            "runs/run-1/run-events" | "runs/run-1/task-stages" | "workspaces/ws-1/runs" | "runs/run-1/policy-checks",
        ) => many(&[]),
        ("GET", "plans/plan-1") => {
            let attributes = json!({ "status": "finished", "has-changes": true, "log-read-url": archivist("plan.log"), "resource-additions": 7 });
            one("plans", "plan-1", &attributes)
        }
        ("GET", "workspaces/ws-1/current-state-version") if seen.state.is_some() => one_of(&state_version(seen)),
        ("POST", "workspaces/ws-1/state-versions") | ("GET", "state-versions/sv-1") => one_of(&state_version(seen)),
        _ => (404, JSON_API, json!({ "errors": [{ "status": "404", "title": "not found" }] }).to_string().into()),
    }
}

/// Serves what the real one keeps elsewhere, under addresses that are all there is of a right to them.
fn stored(asked: &Asked, object: &str, query: &str, seen: &mut Seen) -> Said {
    match (asked.method.as_str(), object) {
        ("PUT", "upload") if query == "expires=1" => {
            seen.uploaded = true;
            (200, "text/plain", Vec::new())
        }
        ("PUT", "state" | "state.json") => {
            if object == "state" {
                seen.state = Some(asked.body.clone());
            }
            (200, "text/plain", Vec::new())
        }
        ("GET", "state") => (200, "application/octet-stream", seen.state.clone().unwrap_or_default()),
        ("GET", "plan.log") => (200, "text/plain", log(query)),
        _ => (404, "text/plain", Vec::new()),
    }
}

/// Gives the part of the log that is asked for, and grows: nobody gets it all at once.
fn log(query: &str) -> Vec<u8> {
    let number = |name: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse::<usize>().ok()).unwrap_or(0)
    };
    let whole = format!("\u{2}Terraform v1.11.4\nlooking at the network\n{LOGGED}\n\u{3}").into_bytes();
    let (from, limit) = (number("offset").min(whole.len()), number("limit").min(24));
    whole[from..(from + limit).min(whole.len())].to_vec()
}

fn workspace(seen: &Seen) -> Value {
    let attributes = json!({
        "name": WORKSPACE, "operations": !seen.local, "execution-mode": if seen.local { "local" } else { "remote" },
        "locked": seen.locked, "terraform-version": "1.11.4", "auto-apply": false, "working-directory": "",
        "structured-run-output-enabled": false,
        "permissions": { "can-update": true, "can-queue-run": true, "can-lock": true, "can-unlock": true,
                         "can-read-settings": true, "can-queue-apply": true },
    });
    json!({ "type": "workspaces", "id": "ws-1", "attributes": attributes,
            "relationships": { "organization": { "data": { "type": "organizations", "id": ORGANISATION } } } })
}

fn run() -> Value {
    let attributes = json!({
        "status": "planned_and_finished", "has-changes": true, "is-destroy": false, "plan-only": true, "source": "tfe-api",
        "actions": { "is-cancelable": true, "is-confirmable": false },
        "permissions": { "can-apply": false, "can-cancel": true },
    });
    let related = |kind: &str, id: &str| json!({ "data": { "type": kind, "id": id } });
    json!({ "type": "runs", "id": "run-1", "attributes": attributes,
            "relationships": { "plan": related("plans", "plan-1"), "workspace": related("workspaces", "ws-1"),
                               "configuration-version": related("configuration-versions", "cv-1") } })
}

fn state_version(seen: &Seen) -> Value {
    let status = if seen.state.is_some() { "finalized" } else { "pending" };
    let attributes = json!({
        "serial": 1, "status": status, "hosted-state-download-url": archivist("state"),
        "hosted-state-upload-url": archivist("state"), "hosted-json-state-upload-url": archivist("state.json"),
        "resources-processed": true,
    });
    json!({ "type": "state-versions", "id": "sv-1", "attributes": attributes })
}

fn archivist(object: &str) -> String {
    format!("https://{HOST}/_archivist/{object}")
}

fn one(kind: &str, id: &str, attributes: &Value) -> Said {
    one_of(&json!({ "type": kind, "id": id, "attributes": attributes }))
}

fn one_of(resource: &Value) -> Said {
    (200, JSON_API, json!({ "data": resource }).to_string().into())
}

fn many(resources: &[Value]) -> Said {
    let pages = json!({ "pagination": { "current-page": 1, "total-pages": 1, "total-count": resources.len() } });
    (200, JSON_API, json!({ "data": resources, "meta": pages }).to_string().into())
}
