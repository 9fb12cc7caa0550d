// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests a failure and a power cut at each step of a change, and concurrent administrators.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::router::{
    Fault, OLD, Router, apply, confirm, expire, expire_unconfirmed, is_changed, refusal_to_open,
    revert, state, steps,
};
use crate::record::State;
use crate::watch::{roll_back_at_boot, roll_back_before_upgrade};

#[test]
fn a_failed_step_of_an_apply_leaves_the_old_configuration() {
    let (applied, _) = steps();
    let faults = (1..=applied).flat_map(|at| [Fault::Refused(at), Fault::Unanswered(at)]);
    for fault in faults {
        let router = Router::new(fault);
        let outcome = apply(&router, "changed");
        let waits = router.store().pending().unwrap().is_some();
        assert_eq!(is_changed(&router), waits, "{fault:?}: each change has its record");
        assert!(waits || outcome.is_err(), "{fault:?}");
        expire_unconfirmed(&router);
        assert_eq!(router.file(), OLD, "{fault:?}");
        assert_eq!(state(&router).is_some(), waits, "{fault:?}");
        let id = apply(&router, "changed").unwrap().head.id;
        confirm(&router, id).unwrap();
        assert!(is_changed(&router), "{fault:?}");
    }
}

#[test]
fn an_unanswered_apply_keeps_the_record_of_its_change() {
    let (applied, _) = steps();
    let unanswered = (1..=applied).filter(|at| {
        let router = Router::new(Fault::Unanswered(*at));
        let outcome = apply(&router, "changed");
        let unknown = outcome.is_err_and(|refusal| refusal.cause.code == "unknown");
        assert!(!unknown || is_changed(&router), "step {at}");
        if unknown {
            // The change may be in force, so it can be confirmed.
            confirm(&router, 1).unwrap();
            assert_eq!((is_changed(&router), state(&router)), (true, Some(State::Confirmed)));
        }
        unknown
    });
    assert_eq!(unanswered.count(), 1, "the answer of uci apply");
}

#[test]
fn the_record_matches_the_configuration_after_a_failed_confirm() {
    let (applied, confirmed) = steps();
    for at in applied + 1..=confirmed {
        for fault in [Fault::Refused(at), Fault::Unanswered(at)] {
            let router = Router::new(fault);
            apply(&router, "changed").unwrap();
            let outcome = confirm(&router, 1);
            expire_unconfirmed(&router);
            let kept = state(&router).is_none_or(|state| state == State::Confirmed);
            assert_eq!(is_changed(&router), kept, "{fault:?}");
            assert!(kept || outcome.is_err(), "{fault:?}");
            assert!(router.store().pending().unwrap().is_none(), "{fault:?}");
        }
    }
}

#[test]
fn a_power_cut_reverts_only_an_unconfirmed_change() {
    let (applied, confirmed) = steps();
    let mut ends = BTreeSet::new();
    for at in 0..=confirmed {
        let router = Router::new(Fault::PowerCut(at));
        let done = apply(&router, "changed").is_ok_and(|_| confirm(&router, 1).is_ok());
        router.boot();
        let state = state(&router);
        assert_eq!(is_changed(&router), state == Some(State::Confirmed), "step {at}: {state:?}");
        assert!(!done || is_changed(&router), "step {at}");
        assert!(at > applied || !is_changed(&router), "step {at}");
        assert!(router.store().pending().unwrap().is_none(), "step {at}");
        ends.insert(state.map(State::name));
        // A second boot changes nothing.
        let file = router.file();
        router.boot();
        assert_eq!(router.file(), file, "step {at}");
    }
    let all = [None, Some("confirmed"), Some("power-cut")];
    assert_eq!(ends, BTreeSet::from(all), "each end is reached");
}

#[test]
fn a_second_power_cut_at_boot_does_not_lose_the_old_configuration() {
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    for cut in 0..8 {
        router.steps.set(0);
        router.fault.set(Fault::PowerCut(cut));
        let _ = roll_back_at_boot(&router.store());
        router.fault.set(Fault::None);
    }
    router.boot();
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::PowerCut)));
}

// A service that reloads meanwhile, such as fw4, would read half of a file.
#[test]
fn no_step_of_a_rollback_leaves_an_incomplete_file() {
    for reverts in [true, false] {
        let end = |router: &Rc<Router>| if reverts { revert(router, 1) } else { expire(router) };
        let changed = || {
            let router = Router::new(Fault::None);
            apply(&router, "changed").unwrap();
            router
        };
        let whole = changed();
        let applied = whole.steps.get();
        end(&whole).unwrap();
        assert!(!is_changed(&whole) && whole.applied.borrow().is_none());
        for at in applied + 1..=whole.steps.get() {
            let router = changed();
            let reader = router.clone();
            // Fails on any other content.
            let read = move || {
                is_changed(&reader);
            };
            *router.interruption.borrow_mut() = Some((at, Box::new(read)));
            end(&router).unwrap();
            assert!(router.interruption.borrow().is_none(), "step {at} is reached");
        }
    }
}

#[test]
fn a_rollback_also_removes_edits_made_since_the_change() {
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    router.edit("later");
    revert(&router, 1).unwrap();
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::Reverted)));
}

// A service that was not told of the old file would keep the configuration of the change.
#[test]
fn an_interrupted_rollback_is_resumed_and_reloads_the_services() {
    let (applied, _) = steps();
    for at in applied + 1.. {
        let router = Router::new(Fault::PowerCut(at));
        apply(&router, "changed").unwrap();
        // Only the process ends: rpcd and the records of this boot stay.
        let done = revert(&router, 1).is_ok();
        expire_unconfirmed(&router);
        assert!(!is_changed(&router) && router.store().pending().unwrap().is_none(), "{at}");
        assert_eq!(router.told.borrow().as_deref(), Some(OLD), "{at}");
        assert!(router.applied.borrow().is_none(), "{at}: rpcd waits no longer");
        if done {
            break;
        }
    }
}

#[test]
fn a_concurrent_administrator_is_refused_at_each_step() {
    let (_, confirmed) = steps();
    for at in 1..=confirmed {
        let router = Router::new(Fault::None);
        let second = Rc::new(RefCell::new(None));
        let (other, outcome) = (router.clone(), second.clone());
        let run = move || {
            *outcome.borrow_mut() = Some(refusal_to_open(&other));
        };
        *router.interruption.borrow_mut() = Some((at, Box::new(run)));
        apply(&router, "changed").unwrap();
        confirm(&router, 1).unwrap();
        let code = second.borrow_mut().take().expect("a result of the second administrator");
        assert_eq!(code, Some("busy"), "step {at}");
        assert_eq!((is_changed(&router), state(&router)), (true, Some(State::Confirmed)));
    }
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    assert_eq!(apply(&router, "other").map(drop).map_err(|of| of.code), Err("pending"));
    confirm(&router, 1).unwrap();
    assert!(is_changed(&router));
}

// libuci keeps the old file on a full disk, and rpcd does not report the failure.
#[test]
fn a_change_that_rpcd_could_not_write_is_refused() {
    let router = Router::new(Fault::None);
    router.full.set(true);
    let refused = apply(&router, "changed").map(drop).unwrap_err();
    assert_eq!((refused.code, refused.cause.code), ("failed", "file"));
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::Reverted)));
    assert!(router.store().pending().unwrap().is_none() && router.applied.borrow().is_none());
    // The disk becomes full before rpcd restores the old file.
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    router.full.set(true);
    expire_unconfirmed(&router);
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::Expired)));
}

// On a full disk, rpcd truncates the file that it restores, and our copy cannot be written either.
#[test]
fn a_change_that_a_full_disk_left_in_force_is_reverted_later() {
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

// rpcd has one pending change for all clients.
#[test]
fn a_pending_change_of_another_client_is_not_ended() {
    let router = Router::new(Fault::None);
    *router.applied.borrow_mut() = Some(("luci".to_owned(), OLD.into()));
    let refused = apply(&router, "changed").map(drop);
    assert_eq!(refused.map_err(|refusal| refusal.code), Err("pending"));
    assert_eq!(router.file(), OLD);
    assert!(router.applied.borrow().is_some());
    assert!(router.store().pending().unwrap().is_none());
}

// The upgrade fails, and the router continues to run.
#[test]
fn a_change_that_ended_before_a_failed_upgrade_cannot_be_confirmed() {
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    roll_back_before_upgrade(&router.store()).unwrap();
    assert!(!is_changed(&router));
    assert_eq!(confirm(&router, 1).unwrap_err().code, "gone");
    let (_, before) = router.applied.borrow_mut().take().unwrap();
    router.copy_back(&before).unwrap();
    expire_unconfirmed(&router);
    assert_eq!((router.file().as_str(), state(&router)), (OLD, Some(State::PowerCut)));
    assert_eq!(apply(&router, "changed").unwrap().head.id, 2);
}
