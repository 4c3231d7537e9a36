//! Sessions: which bearer tokens the bridge accepts, and what each leads to.
//! A recipe comes in and a token goes out; a token comes in and the recipe goes out.
//! Pure memory. A token is as good as the route behind it, for as long as a run may last.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use credmint_vocabulary::{Failure, Secret};

use super::random_token;
use crate::recipe::{EntryKey, Recipe};

/// Keeps the sessions, the newest last.
#[derive(Default)]
pub(super) struct Sessions {
    open: RefCell<VecDeque<(Secret<String>, Rc<Recipe>)>>,
}

impl Sessions {
    /// Opens a session for one run; the oldest of many goes.
    pub(super) fn open(&self, recipe: &Rc<Recipe>) -> Result<Secret<String>, Failure> {
        let token = random_token()?;
        let copy = token.copied();
        let mut open = self.open.borrow_mut();
        if open.len() >= MOST_SESSIONS {
            open.pop_front();
        }
        open.push_back((copy, Rc::clone(recipe)));
        Ok(token)
    }

    /// Finds what a token leads to. Every session is compared, each in constant time.
    pub(super) fn find(&self, token: &[u8]) -> Option<Rc<Recipe>> {
        let open = self.open.borrow();
        let found =
            open.iter().fold(None, |found, (own, recipe)| if own.same_as(token) { Some(recipe) } else { found });
        found.cloned()
    }

    /// Ends all sessions of an entry.
    pub(super) fn close(&self, key: EntryKey) {
        self.open.borrow_mut().retain(|(_, recipe)| recipe.key != key);
    }
}

const MOST_SESSIONS: usize = 1024;
