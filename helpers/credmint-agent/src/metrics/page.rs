//! The page of numbers: the text exposition format of Prometheus, version 0.0.4.
//! What the agent counts and keeps comes in, text goes out; of hosts and providers that the port is not for there is nothing.
//! No secret, no identity, no path: the labels are host, service, status and version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use credmint_local_machine::clock;
use credmint_vocabulary::Timestamp;

use super::counts::{BOUNDS, OfHost, Tally};
use crate::agent::Agent;
use crate::bridge::Bridge;

/// Writes the page for the hosts and providers of a port.
pub(super) fn page(agent: &Agent, names: &BTreeSet<String>) -> String {
    let mut tally = agent.metrics.counts.all();
    tally.requests.retain(|(host, _), _| names.contains(host));
    tally.hosts.retain(|host, _| names.contains(host));
    let mut page = Page::default();
    about_requests(&mut page, &tally);
    about_hosts(&mut page, &tally);
    about_entries(&mut page, agent, names, clock::now());
    about_agent(&mut page, agent);
    page.0
}

fn about_requests(page: &mut Page, tally: &Tally) {
    page.family(
        "requests_total",
        "counter",
        "Requests through the bridge that somebody had the right to, by how they ended",
    );
    for ((host, service), own) in &tally.requests {
        for (status, count) in &own.statuses {
            let status = status.map_or("aborted".to_owned(), |status| status.to_string());
            page.sample("requests_total", &[("host", host), ("service", service), ("status", &status)], count);
        }
    }
    page.family("request_duration_seconds", "histogram", "From the head of a request to the end of its answer");
    for ((host, service), own) in &tally.requests {
        let (mut so_far, labels) = (0, [("host", host.as_str()), ("service", *service)]);
        for (bound, count) in BOUNDS.iter().zip(own.took) {
            so_far += count;
            let bound = bound.to_string();
            let labels = [labels.as_slice(), &[("le", &bound)]].concat();
            page.sample("request_duration_seconds_bucket", &labels, so_far);
        }
        let all = [labels.as_slice(), &[("le", "+Inf")]].concat();
        page.sample("request_duration_seconds_bucket", &all, own.count());
        page.sample("request_duration_seconds_sum", &labels, own.seconds);
        page.sample("request_duration_seconds_count", &labels, own.count());
    }
    page.family("response_bytes_total", "counter", "Bytes of bodies that went to clients");
    for ((host, service), own) in &tally.requests {
        page.sample("response_bytes_total", &[("host", host), ("service", service)], own.bytes);
    }
}

fn about_hosts(page: &mut Page, tally: &Tally) {
    type Value = fn(&OfHost) -> u64;
    let families: [(&str, &str, Value); 3] = [
        ("upstream_retries_total", "Requests that were sent upstream once more", |own| own.retries),
        ("renewals_total", "Credentials that were made anew before the old one ended", |own| own.renewals),
        ("renewal_failures_total", "Renewals that failed; the last good credential is kept", |own| own.failed_renewals),
    ];
    for (name, help, value) in families {
        page.family(name, "counter", help);
        for (host, own) in &tally.hosts {
            page.sample(name, &[("host", host)], value(own));
        }
    }
}

fn about_entries(page: &mut Page, agent: &Agent, names: &BTreeSet<String>, now: Timestamp) {
    let mut counts: BTreeMap<&str, u64> = names.iter().map(|host| (host.as_str(), 0)).collect();
    let mut ends: BTreeMap<String, i64> = BTreeMap::new();
    for entry in agent.entries.all().iter().filter(|entry| entry.is_alive(now)) {
        let Some(count) = counts.get_mut(entry.recipe.name.to_string().as_str()) else { continue };
        *count += 1;
        if let (Some(end), Some(_)) = (entry.expires(), &entry.facts.certificate) {
            let soonest = ends.entry(entry.recipe.name.to_string()).or_insert(i64::MAX);
            *soonest = end.unix().min(*soonest);
        }
    }
    page.family("entries", "gauge", "Credentials that are kept");
    counts.iter().for_each(|(host, count)| page.sample("entries", &[("host", host)], count));
    page.family(
        "certificate_not_after_seconds",
        "gauge",
        "When the client certificate ends that ends first, since 1970",
    );
    ends.iter().for_each(|(host, end)| page.sample("certificate_not_after_seconds", &[("host", host)], end));
}

fn about_agent(page: &mut Page, agent: &Agent) {
    let sessions = agent.sessions.all().iter().filter(|session| session.kept().is_ok()).count();
    let bridge = agent.bridge.as_ref();
    let runs = bridge.map_or(0, |bridge| bridge.runs().len());
    let lost = bridge.map_or(0, Bridge::lost_lines);
    let families = [
        ("sessions", "gauge", "People who are signed in", sessions.to_string()),
        ("runs_open", "gauge", "Runs of credmint exec", runs.to_string()),
        ("locked", "gauge", "Whether credmint is locked", u8::from(agent.lock.is_shut()).to_string()),
        ("audit_lines_lost_total", "counter", "Lines of the audit that could not be written", lost.to_string()),
        ("start_time_seconds", "gauge", "When the agent started, since 1970", agent.started.unix().to_string()),
    ];
    for (name, kind, help, value) in families {
        page.family(name, kind, help);
        page.sample(name, &[], value);
    }
    page.family("build_info", "gauge", "Always 1; its label is the version");
    page.sample("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
}

/// A page that grows.
#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0.push_str(&format!("# HELP credmint_{name} {help}.\n# TYPE credmint_{name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.0.push_str(&format!("credmint_{name}{labels} {value}\n"));
    }
}

/// What the format wants escaped in the value of a label; no hostname has any of it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_page_has_the_hosts_of_its_port_and_no_other() {
        let agent = Agent::new(false, Vec::new());
        let took = Duration::from_millis(20);
        agent.metrics.counts.request(("a.example", "modules"), Some(200), took, 7);
        agent.metrics.counts.request(("a.example", "modules"), None, took, 0);
        agent.metrics.counts.request(("b.example", "modules"), Some(200), took, 7);
        agent.metrics.counts.renewal("b.example", true);
        agent.metrics.counts.request(("provider/prod", "credentials"), Some(200), took, 7);
        let text = page(&agent, &["a.example".to_owned(), "provider/prod".to_owned()].into());
        for line in [
            "credmint_requests_total{host=\"a.example\",service=\"modules\",status=\"200\"} 1",
            "credmint_requests_total{host=\"a.example\",service=\"modules\",status=\"aborted\"} 1",
            "credmint_request_duration_seconds_bucket{host=\"a.example\",service=\"modules\",le=\"0.01\"} 0",
            "credmint_request_duration_seconds_bucket{host=\"a.example\",service=\"modules\",le=\"0.025\"} 2",
            "credmint_request_duration_seconds_bucket{host=\"a.example\",service=\"modules\",le=\"+Inf\"} 2",
            "credmint_request_duration_seconds_count{host=\"a.example\",service=\"modules\"} 2",
            "credmint_response_bytes_total{host=\"a.example\",service=\"modules\"} 7",
            "credmint_requests_total{host=\"provider/prod\",service=\"credentials\",status=\"200\"} 1",
            "credmint_entries{host=\"a.example\"} 0",
            "credmint_runs_open 0",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        assert!(!text.contains("b.example"), "{text}");
    }

    #[test]
    fn a_label_cannot_leave_its_quotes() {
        let mut page = Page::default();
        page.sample("x", &[("host", "a\"b\\c\nd")], 1);
        assert_eq!(page.0, "credmint_x{host=\"a\\\"b\\\\c\\nd\"} 1\n");
    }
}
