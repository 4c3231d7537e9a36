//! The two blocks in Terraform's CLI configuration: put in, kept, and taken out again byte for byte.
//! The text of the file comes in, the new text goes out; what stands around our blocks is not touched.
//! Reads and writes no file. Terraform reads this file too: `protocol-spec/helper-protocol.md` §1.

use std::ops::Range;

use credmint_vocabulary::Hostname;

use super::block::{MARK, append, cut, newline_of, ours};
use super::services::{Services, services_of};
use crate::hcl::{Item, items};

/// The only line of a file that we made, apart from blocks.
const HEADER: &str = "# CLI configuration, made by `credmint setup`.";
const HELPER: &str = "credmint";

/// Says why the file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    /// The file has to be mended by hand first.
    #[error("line {line}, column {column} {why}")]
    Broken {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        why: &'static str,
    },
    /// Terraform allows one helper.
    #[error("line {line} names another credentials helper, `{label}`; Terraform allows one")]
    OtherHelper {
        /// Line of the block.
        line: usize,
        /// Its label.
        label: String,
    },
    /// Somebody else wrote a block for this host.
    #[error("line {line} has a `host` block for it that credmint did not write")]
    OtherHost {
        /// Line of the block.
        line: usize,
    },
}

/// One block of the file that matters to us.
struct Found {
    label: String,
    line: usize,
    span: Range<usize>,
    /// What goes when the block goes: comment, block, and the newlines that came with them. Only if it is ours.
    ours: Option<Range<usize>>,
    services: Option<Services>,
}

/// Puts in what is missing. Without services (nothing needs a bridge) a host block of ours is taken out.
pub(crate) fn add(text: &str, host: &Hostname, services: Option<&Services>) -> Result<String, EditError> {
    let text = add_helper(text)?;
    match services {
        Some(services) => add_host(&text, host, services),
        None => remove_host(&text, host),
    }
}

/// Takes out the host block that we wrote and, with it, the helper block if no other host needs it.
pub(crate) fn remove(text: &str, host: &Hostname, others: bool) -> Result<String, EditError> {
    let text = remove_host(text, host)?;
    let body = parse(&text)?;
    if others || found(&text, &body, "host").any(|block| block.ours.is_some()) {
        return Ok(text);
    }
    let ours = found(&text, &body, "credentials_helper").find(|block| block.label == HELPER).and_then(|b| b.ours);
    Ok(ours.map_or_else(|| text.clone(), |range| cut(&text, range)))
}

/// Gives the text that a new file begins with.
pub(crate) fn new_file() -> String {
    format!("{HEADER}\n")
}

/// Tells whether nothing is left of a file that we made.
pub(crate) fn is_bare(text: &str) -> bool {
    text.trim_end() == HEADER
}

/// Tells whether a text has our helper block.
pub(crate) fn names_our_helper(text: &str) -> bool {
    parse(text).is_ok_and(|body| found(text, &body, "credentials_helper").any(|block| block.label == HELPER))
}

/// Gives line and label of a helper block that is not ours.
pub(crate) fn other_helper(text: &str) -> Option<(usize, String)> {
    let body = parse(text).ok()?;
    let other = found(text, &body, "credentials_helper").find(|block| block.label != HELPER)?;
    Some((other.line, other.label))
}

/// Gives the line of a `credentials` block for the host: it goes before every helper.
pub(crate) fn shadow(text: &str, host: &Hostname) -> Option<usize> {
    let body = parse(text).ok()?;
    found(text, &body, "credentials").find(|block| names(&block.label, host)).map(|block| block.line)
}

fn add_helper(text: &str) -> Result<String, EditError> {
    let body = parse(text)?;
    let blocks: Vec<Found> = found(text, &body, "credentials_helper").collect();
    if let Some(other) = blocks.iter().find(|block| block.label != HELPER) {
        return Err(EditError::OtherHelper { line: other.line, label: other.label.clone() });
    }
    if blocks.is_empty() {
        let comment = format!("{MARK}; it goes when the last host goes.");
        return Ok(append(text, &format!("{comment}\ncredentials_helper \"{HELPER}\" {{}}\n")));
    }
    Ok(text.to_owned())
}

fn add_host(text: &str, host: &Hostname, services: &Services) -> Result<String, EditError> {
    let body = parse(text)?;
    let Some(block) = found(text, &body, "host").find(|block| names(&block.label, host)) else {
        let comment = format!("{MARK}; `credmint setup {host} --remove` takes it out again.");
        return Ok(append(text, &format!("{comment}\n{}\n", services.block(host))));
    };
    match block.services {
        Some(present) if present.serves(services) && (block.ours.is_none() || present.same_login(services)) => {
            Ok(text.to_owned())
        }
        Some(present) if block.ours.is_some() && !present.has_more(host, services) => {
            Ok(replace(text, block.span, &services.clone().keeping(host, &present).block(host)))
        }
        _ => Err(EditError::OtherHost { line: block.line }),
    }
}

fn remove_host(text: &str, host: &Hostname) -> Result<String, EditError> {
    let body = parse(text)?;
    let ours = found(text, &body, "host").find(|block| names(&block.label, host)).and_then(|block| block.ours);
    Ok(ours.map_or_else(|| text.to_owned(), |range| cut(text, range)))
}

fn parse(text: &str) -> Result<Vec<Item>, EditError> {
    items(text).map_err(|error| EditError::Broken {
        line: error.line(text),
        column: error.column(text),
        why: error.why("is not HCL"),
    })
}

fn found<'a>(text: &'a str, items: &'a [Item], kind: &'a str) -> impl Iterator<Item = Found> + 'a {
    let is_one = move |item: &&Item| item.words.first().is_some_and(|word| word == kind) && !item.is_attribute;
    items.iter().filter(is_one).filter_map(move |item| describe(text, item))
}

fn describe(text: &str, block: &Item) -> Option<Found> {
    let span = block.span.clone();
    Some(Found {
        label: block.words.get(1)?.clone(),
        line: text.get(..span.start)?.matches('\n').count() + 1,
        ours: ours(text, &span),
        services: services_of(text, block),
        span,
    })
}

/// Compares as Terraform does: case and `:443` do not count.
pub(crate) fn names(label: &str, host: &Hostname) -> bool {
    let label = label.to_ascii_lowercase();
    label.strip_suffix(":443").unwrap_or(&label) == host.as_str()
}

fn replace(text: &str, span: Range<usize>, block: &str) -> String {
    let mut text = text.to_owned();
    let block = block.replace('\n', newline_of(&text));
    text.replace_range(span, &block);
    text
}

#[cfg(test)]
#[path = "cli_configuration_tests.rs"]
mod tests;
