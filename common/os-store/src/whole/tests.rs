//! The value in chunks, against a store that is short like Windows', crashes after any step, and lies.
//! Lengths around the limit come in; what is read back afterwards is compared.
//! Nothing here knows how the value is cut, but the tests that damage it.

use super::*;
use crate::fake::Fake;

/// Windows' limit on a blob, in bytes.
const LIMIT: usize = 2560;

fn store() -> Fake {
    Fake::limited(LIMIT)
}

/// Makes a value of a length in which no two chunks are alike.
fn value(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| seed.wrapping_add((at % 251) as u8).wrapping_add((at / LIMIT) as u8)).collect()
}

fn get(store: &Fake) -> Option<Vec<u8>> {
    read(store, "me").expect("readable").map(|whole| whole.value.expose().clone())
}

#[test]
fn values_around_the_limit_of_windows_are_kept_whole_wincred_18() {
    for length in [0, 1, 1800, 2559, 2560, 2561, 5120, 5121, 8192] {
        let store = store();
        write(&store, "me", &value(length, 1), 1).expect("kept");
        assert_eq!(get(&store), Some(value(length, 1)), "{length}");
        assert_eq!(delete(&store, "me"), Ok(true));
        assert!(store.is_empty(), "{length}: {:?}", store.names());
    }
}

#[test]
fn a_value_that_fits_is_one_item() {
    let store = store();
    write(&store, "me", &value(1000, 1), 1).expect("kept");
    assert_eq!(store.names(), ["me"]);
}

#[test]
fn what_is_longer_than_anything_is_refused_and_leaves_the_one_before_kubelogin_1255() {
    let store = store();
    write(&store, "me", &value(8192, 1), 1).expect("kept");
    let refused = write(&store, "me", &value(LIMIT * MOST_CHUNKS + 1, 2), 1);
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
    assert_eq!(get(&store), Some(value(8192, 1)));
}

#[test]
fn a_shorter_value_leaves_nothing_of_the_longer_one() {
    let store = store();
    for (length, items) in [(8192, 5), (2561, 3), (8192, 5), (10, 1), (8192, 5)] {
        write(&store, "me", &value(length, 3), 1).expect("kept");
        assert_eq!((get(&store), store.names().len()), (Some(value(length, 3)), items));
    }
}

#[test]
fn generations_rise_whatever_the_clock_says() {
    let store = store();
    let all: Vec<u64> =
        [5, 5, 3, 9].iter().map(|at_least| write(&store, "me", b"x", *at_least).expect("kept")).collect();
    assert_eq!(all, [5, 6, 7, 9]);
}

/// Crashes a change after every single step; afterwards the old or the new value is there, whole, and everything works.
fn survives_crashes(before: Option<usize>, change: impl Fn(&Fake) -> Result<(), StoreError>, after: Option<usize>) {
    let mut ends = std::collections::BTreeSet::new();
    for steps in 0.. {
        let store = store();
        if let Some(length) = before {
            write(&store, "me", &value(length, 1), 1).expect("kept");
        }
        store.crash_after(Some(steps));
        let done = change(&store).is_ok();
        let ran_out = write(&store, "other", b"x", 1).is_err();
        store.crash_after(None);
        let (old, new) = (before.map(|length| value(length, 1)), after.map(|length| value(length, 2)));
        let now = get(&store);
        assert!(now == old || now == new, "{before:?} to {after:?}, after {steps} steps: neither old nor new");
        assert!(!done || now == new, "{before:?} to {after:?}, after {steps} steps: said to be done");
        ends.insert(now == new);
        // The next process writes and deletes as if nothing had been.
        write(&store, "me", &value(5000, 9), 1).expect("kept");
        assert_eq!(get(&store), Some(value(5000, 9)));
        delete(&store, "me").expect("deleted");
        let left: Vec<_> = store.names().into_iter().filter(|name| name.starts_with("me")).collect();
        assert!(left.is_empty(), "{before:?} to {after:?}, after {steps} steps: {left:?}");
        if !ran_out {
            break;
        }
    }
    assert!(before.map(|l| value(l, 1)) == after.map(|l| value(l, 2)) || ends.len() == 2, "both ends were seen");
}

#[test]
fn a_crash_at_any_step_leaves_the_old_or_the_new_value_wincred_18() {
    let lengths = [Some(0), Some(10), Some(2561), Some(8192)];
    for before in lengths.into_iter().chain([None]) {
        for after in lengths {
            let new = value(after.unwrap_or_default(), 2);
            survives_crashes(before, |store| write(store, "me", &new, 1).map(drop), after);
        }
    }
}

#[test]
fn a_crash_at_any_step_of_a_deletion_leaves_the_value_or_nothing_cargo_16955() {
    for before in [10, 2561, 8192] {
        survives_crashes(Some(before), |store| delete(store, "me").map(drop), None);
    }
}

#[test]
fn a_store_that_loses_writes_is_found_out_and_the_value_before_stays_entireio_2495() {
    for lost in ["me/b0", "me/b1", "me/b3", "me"] {
        let store = store();
        write(&store, "me", &value(8192, 1), 1).expect("kept");
        store.lose(Some(lost));
        let said = write(&store, "me", &value(8192, 2), 1);
        assert_eq!(said, Err(StoreError::Lied { store: "the fake", what: "keep it" }), "{lost}");
        store.lose(None);
        assert_eq!(get(&store), Some(value(8192, 1)), "{lost}");
    }
}

#[test]
fn a_store_that_deletes_nothing_is_found_out_cargo_16955() {
    for lost in ["me", "me/a0", "me/a3"] {
        let store = store();
        write(&store, "me", &value(8192, 1), 1).expect("kept");
        store.lose(Some(lost));
        assert_eq!(delete(&store, "me"), Err(StoreError::Lied { store: "the fake", what: "delete it" }), "{lost}");
    }
}

#[test]
fn what_is_damaged_is_told_and_neither_blocks_writing_nor_deleting_doppler_529() {
    let text = |text: &'static str| move |store: &Fake| store.put("me", text.as_bytes());
    let ways: [&dyn Fn(&Fake); 7] = [
        &text(""),
        &text("something else's"),
        &text("{\"format\":2,\"generation\":1,\"set\":\"a\",\"chunks\":0,\"length\":0,\"sha256\":\"\"}"),
        &text("{\"format\":1,\"generation\":1,\"set\":\"a\",\"chunks\":99999,\"length\":0,\"sha256\":\"\"}"),
        &|store| drop(store.take("me/a1").expect("a chunk")),
        &|store| store.put("me/a2", &value(LIMIT, 7)),
        &|store| store.put("me/a3", b"short"),
    ];
    for (at, damage) in ways.iter().enumerate() {
        let damaged = || {
            let store = store();
            write(&store, "me", &value(8192, 1), 1).expect("kept");
            damage(&store);
            assert!(matches!(read(&store, "me"), Err(StoreError::Corrupt { .. })), "{at}");
            store
        };
        let store = damaged();
        assert_eq!(delete(&store, "me"), Ok(true), "{at}");
        assert!(store.is_empty(), "{at}: {:?}", store.names());
        let store = damaged();
        write(&store, "me", &value(3000, 2), 1).expect("kept");
        assert_eq!(get(&store), Some(value(3000, 2)), "{at}");
        delete(&store, "me").expect("deleted");
        assert!(store.is_empty(), "{at}: {:?}", store.names());
    }
}
