// SPDX-License-Identifier: GPL-2.0-or-later
//! Lets each step of a change fail once, cuts the power after each, and interleaves two
//! administrators.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::router::{
    Fault, OLD, Router, apply, confirm, has_new, opened, run_out_of_time, state, steps,
};
use crate::record::State;
use crate::watch::{leave_nothing, put_back};

/// After a failure during apply nothing is changed, or the change is reverted in time.
#[test]
fn a_failed_step_of_an_apply_leaves_no_change_behind() {
    let (applied, _) = steps();
    let faults = (1..=applied).flat_map(|at| [Fault::Refused(at), Fault::Unanswered(at)]);
    for fault in faults {
        let router = Router::new(fault);
        let outcome = apply(&router, "changed");
        let waits = router.store().pending().unwrap().is_some();
        assert_eq!(has_new(&router), waits, "{fault:?}: each change has its record");
        assert!(waits || outcome.is_err(), "{fault:?}");
        run_out_of_time(&router);
        assert_eq!(router.file(), OLD, "{fault:?}");
        assert_eq!(state(&router).is_some(), waits, "{fault:?}");
        // The next change is not blocked.
        let id = apply(&router, "changed").unwrap().head.id;
        confirm(&router, id).unwrap();
        assert!(has_new(&router), "{fault:?}");
    }
}

#[test]
fn a_change_whose_apply_got_no_answer_keeps_its_record() {
    let (applied, _) = steps();
    let unanswered = (1..=applied).filter(|at| {
        let router = Router::new(Fault::Unanswered(*at));
        let outcome = apply(&router, "changed");
        let unknown = outcome.is_err_and(|refusal| refusal.cause.code == "unknown");
        assert!(!unknown || has_new(&router), "step {at}");
        if unknown {
            // A user who finds the change in force can confirm it.
            confirm(&router, 1).unwrap();
            assert_eq!((has_new(&router), state(&router)), (true, Some(State::Confirmed)));
        }
        unknown
    });
    assert_eq!(unanswered.count(), 1, "the answer of uci apply");
}

/// If a step of a confirm fails, the change is kept or reverted, and its record says which.
#[test]
fn after_a_failed_step_of_a_confirm_the_record_matches_the_configuration() {
    let (applied, confirmed) = steps();
    for at in applied + 1..=confirmed {
        for fault in [Fault::Refused(at), Fault::Unanswered(at)] {
            let router = Router::new(fault);
            apply(&router, "changed").unwrap();
            let outcome = confirm(&router, 1);
            run_out_of_time(&router);
            let kept = state(&router).is_none_or(|state| state == State::Confirmed);
            assert_eq!(has_new(&router), kept, "{fault:?}");
            assert!(kept || outcome.is_err(), "{fault:?}");
            assert!(router.store().pending().unwrap().is_none(), "{fault:?}");
        }
    }
}

/// A power cut reverts a change until it is confirmed, but not afterwards.
#[test]
fn a_power_cut_reverts_a_change_until_it_is_confirmed() {
    let (applied, confirmed) = steps();
    let mut ends = BTreeSet::new();
    for at in 0..=confirmed {
        let router = Router::new(Fault::PowerCut(at));
        let done = apply(&router, "changed").is_ok_and(|_| confirm(&router, 1).is_ok());
        router.boot();
        let state = state(&router);
        assert_eq!(has_new(&router), state == Some(State::Confirmed), "step {at}: {state:?}");
        assert!(!done || has_new(&router), "step {at}");
        assert!(at > applied || !has_new(&router), "step {at}");
        assert!(router.store().pending().unwrap().is_none(), "step {at}");
        ends.insert(state.map(State::name));
        // Another boot does nothing.
        let file = router.file();
        router.boot();
        assert_eq!(router.file(), file, "step {at}");
    }
    let all = [None, Some("confirmed"), Some("power-cut")];
    assert_eq!(ends, BTreeSet::from(all), "each end is reached");
}

/// The power fails again while the old files are written at boot.
#[test]
fn the_power_may_fail_again_at_boot() {
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    for cut in 0..8 {
        router.steps.set(0);
        router.fault.set(Fault::PowerCut(cut));
        let _ = put_back(&router.store());
        router.fault.set(Fault::None);
    }
    router.boot();
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::PowerCut)));
}

/// A second administrator opens the changes at each step of the first one's change.
#[test]
fn a_second_administrator_is_refused_at_each_step() {
    let (_, confirmed) = steps();
    for at in 1..=confirmed {
        let router = Router::new(Fault::None);
        let second = Rc::new(RefCell::new(None));
        let (other, outcome) = (router.clone(), second.clone());
        let run = move || {
            *outcome.borrow_mut() = Some(opened(&other));
        };
        *router.meanwhile.borrow_mut() = Some((at, Box::new(run)));
        apply(&router, "changed").unwrap();
        confirm(&router, 1).unwrap();
        let code = second.borrow_mut().take().expect("it ran");
        assert_eq!(code, Some("busy"), "step {at}");
        assert_eq!((has_new(&router), state(&router)), (true, Some(State::Confirmed)));
    }
    // Between apply and confirm, the first administrator's change is pending.
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    assert_eq!(apply(&router, "other").map(drop).map_err(|of| of.code), Err("pending"));
    confirm(&router, 1).unwrap();
    assert!(has_new(&router));
}

/// libuci leaves the old file when the disk is full, and rpcd does not report it.
#[test]
fn a_change_that_rpcd_could_not_write_is_refused() {
    let router = Router::new(Fault::None);
    router.full.set(true);
    let refused = apply(&router, "changed").map(drop).unwrap_err();
    assert_eq!((refused.code, refused.cause.code), ("failed", "file"));
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::Reverted)));
    assert!(router.store().pending().unwrap().is_none() && router.applied.borrow().is_none());
    // The disk is full only when rpcd restores the old file.
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    router.full.set(true);
    run_out_of_time(&router);
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::Expired)));
}

/// rpcd empties a file when it restores it on a full disk, where there is no room for our copy
/// either.
#[test]
fn a_change_left_in_force_by_a_full_disk_is_reverted_once_there_is_room() {
    let mut late = 0;
    for step in 0..60 {
        let router = Router::new(Fault::Refused(step));
        router.full.set(true);
        let refused = apply(&router, "changed").map(drop).unwrap_err();
        late += usize::from(refused.cause.code == "file" && state(&router).is_none());
        router.full.set(false);
        router.fault.set(Fault::None);
        assert!(apply(&router, "other").is_ok(), "refused step {step}: {}", refused.cause.text);
        assert!(router.file().contains("'other'"), "refused step {step}");
    }
    assert!(late > 0);
}

/// rpcd has one change at a time for all clients, and ours must not end that of a browser.
#[test]
fn a_change_made_elsewhere_stays() {
    let router = Router::new(Fault::None);
    *router.applied.borrow_mut() = Some(("luci".to_owned(), OLD.into()));
    let refused = apply(&router, "changed").map(drop);
    assert_eq!(refused.map_err(|refusal| refusal.code), Err("pending"));
    assert_eq!(router.file(), OLD);
    assert!(router.applied.borrow().is_some());
    assert!(router.store().pending().unwrap().is_none());
}

/// The upgrade fails, and the router keeps running with rpcd's timer.
#[test]
fn a_change_that_ended_before_an_upgrade_cannot_be_confirmed() {
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    leave_nothing(&router.store()).unwrap();
    assert!(!has_new(&router));
    assert_eq!(confirm(&router, 1).unwrap_err().code, "gone");
    let (_, before) = router.applied.borrow_mut().take().unwrap();
    router.copy_back(&before).unwrap();
    run_out_of_time(&router);
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::PowerCut)));
    assert_eq!(apply(&router, "changed").unwrap().head.id, 2);
}
