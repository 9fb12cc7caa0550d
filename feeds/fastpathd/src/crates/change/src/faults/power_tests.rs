// SPDX-License-Identifier: GPL-2.0-or-later
//! Cuts the power after each operation of a change, with each combination of lost operations. The
//! records must match the configuration afterwards.

use std::rc::Rc;

use super::medium::Medium;
use super::router::{Fault, OLD, Router, apply, apply_edits, confirm, expire, revert, undo_edits};
use crate::record::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Confirm,
    Revert,
    /// rpcd's timer reverts the change before `settle` runs.
    Expire,
    /// A restart of rpcd loses its rollback timer.
    Forgotten,
    Undo,
    /// An upgrade begins while the change is pending.
    Leave,
}

const ENDINGS: [Ending; 6] = [
    Ending::Confirm,
    Ending::Revert,
    Ending::Expire,
    Ending::Forgotten,
    Ending::Undo,
    Ending::Leave,
];

impl Ending {
    fn medium(self) -> Medium {
        let router = Router::new(Fault::None);
        if self == Self::Undo {
            apply(&router, "changed").unwrap();
            confirm(&router, 1).unwrap();
        }
        router.medium.replace_with(|medium| {
            medium.flush_all();
            medium.clear_folder("/var/run".as_ref());
            medium.clone()
        })
    }

    fn id(self) -> u64 {
        if self == Self::Undo { 2 } else { 1 }
    }

    /// Runs the change to this ending. Returns the state of a successful answer.
    fn run(self, router: &Rc<Router>) -> Option<State> {
        let id = self.id();
        match self {
            Self::Undo => {
                apply_edits(router, undo_edits(router, 1)).ok()?;
                confirm(router, id).ok().map(|()| State::Confirmed)
            }
            Self::Confirm => {
                apply(router, "changed").ok()?;
                confirm(router, id).ok().map(|()| State::Confirmed)
            }
            Self::Revert => {
                apply(router, "changed").ok()?;
                revert(router, id).ok().map(|()| State::Reverted)
            }
            Self::Expire => {
                apply(router, "changed").ok()?;
                let before = router.applied.borrow_mut().take();
                before.map(|(_, before)| router.copy_back(&before));
                expire(router).ok().map(|()| State::Expired)
            }
            Self::Forgotten => {
                apply(router, "changed").ok()?;
                router.applied.borrow_mut().take();
                expire(router).ok().map(|()| State::Expired)
            }
            Self::Leave => {
                apply(router, "changed").ok()?;
                crate::watch::roll_back_before_upgrade(&router.store())
                    .ok()
                    .map(|()| State::PowerCut)
            }
        }
    }

    /// Boots, and compares the configuration with the records.
    fn check(self, router: &Rc<Router>, answered: Option<State>, at: &str) {
        router.boot();
        let file = router.file();
        let name = ["'gateway'", "'changed'"].map(|name| file.contains(name));
        let is_whole = file == OLD || file.ends_with("'\n");
        assert!(is_whole && name[0] != name[1], "{at}: neither old nor new: {file:?}");
        let state = router.store().record(self.id()).unwrap().map(|record| record.state);
        let is_new = name[1] != (self == Self::Undo);
        assert_eq!(is_new, state == Some(State::Confirmed), "{at}: {state:?}, {file}");
        assert!(answered.is_none_or(|answered| state == Some(answered)), "{at}: {state:?}");
        assert!(router.store().pending().unwrap().is_none(), "{at}");
        for folder in ["/etc/config", "/etc/fastpath/changes"] {
            let names = router.medium.borrow().names(folder.as_ref()).unwrap_or_default();
            let unfinished = names.iter().find(|name| name.starts_with('.'));
            assert_eq!(unfinished, None, "{at}: left in {folder}");
        }
        router.boot();
        assert_eq!(router.file(), file, "{at}: another boot does nothing");
    }
}

#[test]
fn records_match_the_configuration_after_a_power_cut() {
    for ending in ENDINGS {
        let medium = ending.medium();
        let whole = Router::with(medium.clone(), Fault::None);
        assert!(ending.run(&whole).is_some(), "{ending:?}");
        let mut cases = 0;
        for cut in 0..=whole.steps.get() {
            let router = Router::with(medium.clone(), Fault::PowerCut(cut));
            let answered = ending.run(&router);
            for (outcome, router) in router.after_power_cut().iter().enumerate() {
                ending.check(router, answered, &format!("{ending:?}, {cut}, {outcome}"));
                cases += 1;
            }
        }
        assert!(cases > whole.steps.get(), "{ending:?}: something is not flushed at once");
    }
}

#[test]
fn a_rollback_at_boot_survives_another_power_cut() {
    for ending in ENDINGS {
        let medium = ending.medium();
        let whole = Router::with(medium.clone(), Fault::None);
        ending.run(&whole);
        for cut in 0..=whole.steps.get() {
            let router = Router::with(medium.clone(), Fault::PowerCut(cut));
            let answered = ending.run(&router);
            // The outcomes with no and with all unflushed operations on the medium.
            let outcomes = router.after_power_cut();
            for first in [&outcomes[0], &outcomes[outcomes.len() - 1]] {
                for again in 0.. {
                    let router =
                        Router::with(first.medium.borrow().clone(), Fault::PowerCut(again));
                    let done = crate::watch::roll_back_at_boot(&router.store()).is_ok();
                    for router in router.after_power_cut() {
                        ending.check(&router, answered, &format!("{ending:?}, {cut}, {again}"));
                    }
                    if done && router.steps.get() < again {
                        break;
                    }
                }
            }
        }
    }
}
