// SPDX-License-Identifier: GPL-2.0-or-later
//! A change on a router of which each step fails once, whose power is cut after each write, and on
//! which two administrators work at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use plugin::{Bus, BusError, Callee, Calling, Map, Refusal, SESSION, map};
use serde_json::{Value, json};
use ubus::{CallError, Status};

use crate::caller::Caller;
use crate::draft::Draft;
use crate::edit::{Edit, read_edits};
use crate::host::{Held, Host};
use crate::record::{Pending, State};
use crate::store::Store;
use crate::transaction::{Changes, Order};
use crate::watch::put_back;
use ::uci::text;
use ::uci::{Package, Packages};

const SECONDS: u64 = 30;
const OLD: &str = "config system 'main'\n\toption hostname 'gateway'\n";
const CONFIG: &str = "/etc/config/system";

/// A fault, and the step from 1 at which it occurs; writes and calls are steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The step is refused and does nothing.
    Refused(usize),
    /// The step is done, but not answered.
    Unanswered(usize),
    /// The power goes after the step.
    PowerCut(usize),
}

/// An action of somebody else at a step.
type Meanwhile = Box<dyn FnOnce()>;

/// A router in memory: files, and rpcd.
struct Router {
    files: RefCell<BTreeMap<PathBuf, Vec<u8>>>,
    up_ms: Cell<u64>,
    fault: Cell<Fault>,
    steps: Cell<usize>,
    locked: Rc<Cell<bool>>,
    /// Edits that each session has staged.
    staged: RefCell<BTreeMap<String, Vec<Value>>>,
    /// The session that applied, with the file as it was.
    applied: RefCell<Option<(String, Vec<u8>)>>,
    made: Cell<usize>,
    /// Run once, at the step of that number.
    meanwhile: RefCell<Option<(usize, Meanwhile)>>,
}

impl Router {
    fn new(fault: Fault) -> Rc<Self> {
        let files = BTreeMap::from([(PathBuf::from(CONFIG), OLD.into())]);
        Rc::new(Self {
            files: RefCell::new(files),
            up_ms: Cell::new(1000),
            fault: Cell::new(fault),
            steps: Cell::default(),
            locked: Rc::default(),
            staged: RefCell::default(),
            applied: RefCell::default(),
            made: Cell::default(),
            meanwhile: RefCell::default(),
        })
    }

    fn store(self: &Rc<Self>) -> Store {
        Store::on(self.clone(), Path::new("/"))
    }

    fn bus(self: &Rc<Self>) -> Bus {
        Bus::of(self.clone())
    }

    fn file(&self) -> String {
        String::from_utf8(self.files.borrow()[Path::new(CONFIG)].clone()).unwrap()
    }

    fn is_off(&self) -> bool {
        matches!(self.fault.get(), Fault::PowerCut(at) if self.steps.get() >= at)
    }

    /// Begins a step: an error, it is refused; none, it is done and not answered.
    fn step(&self) -> Result<Option<()>, ()> {
        if self.is_off() {
            return Err(());
        }
        let number = self.steps.get() + 1;
        self.steps.set(number);
        let due = self.meanwhile.borrow_mut().take_if(|(at, _)| *at == number);
        if let Some((_, run)) = due {
            run();
        }
        match self.fault.get() {
            Fault::Refused(at) if at == number => Err(()),
            Fault::Unanswered(at) if at == number => Ok(None),
            Fault::None | Fault::Refused(_) | Fault::Unanswered(_) | Fault::PowerCut(_) => {
                Ok(Some(()))
            }
        }
    }

    /// A write of a file; nobody takes an answer of those for lost.
    fn write(&self, write: impl FnOnce(&mut BTreeMap<PathBuf, Vec<u8>>)) -> io::Result<()> {
        self.step().map_err(|()| io::Error::other("no space left"))?;
        write(&mut self.files.borrow_mut());
        Ok(())
    }

    /// The power is back: writes that were not on the medium are lost.
    fn boot(self: &Rc<Self>) {
        self.fault.set(Fault::None);
        self.files.borrow_mut().retain(|path, _| !path.starts_with("/var/run"));
        self.staged.borrow_mut().clear();
        self.applied.borrow_mut().take();
        self.locked.set(false);
        self.up_ms.set(0);
        put_back(&self.store()).unwrap();
    }

    fn packages(&self, session: &str) -> Result<Packages, Status> {
        let Value::Object(values) = config::parse_uci(&self.file()).unwrap() else { panic!() };
        let before = Packages::from([("system".to_owned(), Package::read(&values))]);
        let edits = self.staged.borrow().get(session).cloned().ok_or(Status::NotFound)?;
        Ok(Draft::new(before, &read_edits(&edits).unwrap()).unwrap().after)
    }

    fn uci(&self, method: &str, args: &Map) -> Result<Map, Status> {
        let session = args[SESSION].as_str().unwrap_or_default();
        match method {
            "get" => {
                let packages = self.packages(session)?;
                Ok(map([("values", packages["system"].values())]))
            }
            "set" => {
                let mut edit = args.clone();
                edit.insert("op".to_owned(), json!("set"));
                let mut staged = self.staged.borrow_mut();
                staged.get_mut(session).ok_or(Status::NotFound)?.push(edit.into());
                Ok(Map::new())
            }
            "apply" => {
                if self.applied.borrow().is_some() {
                    return Err(Status::PermissionDenied);
                }
                let after = text(&self.packages(session)?["system"]);
                let before = self.file().into_bytes();
                self.files.borrow_mut().insert(CONFIG.into(), after.into());
                *self.applied.borrow_mut() = Some((session.to_owned(), before));
                Ok(Map::new())
            }
            "confirm" | "rollback" => {
                let applied = self.applied.borrow_mut().take_if(|(by, _)| by == session);
                let (_, before) = applied.ok_or(Status::NoData)?;
                if method == "rollback" {
                    self.files.borrow_mut().insert(CONFIG.into(), before);
                }
                Ok(Map::new())
            }
            other => panic!("uci {other} is not played here"),
        }
    }

    fn answer(&self, object: &str, method: &str, args: &Map) -> Result<Map, Status> {
        match (object, method) {
            ("session", "create") => {
                self.made.set(self.made.get() + 1);
                let id = format!("made{}", self.made.get());
                self.staged.borrow_mut().insert(id.clone(), Vec::new());
                Ok(map([(SESSION, json!(id))]))
            }
            ("session", "grant") | ("service", "event") => Ok(Map::new()),
            ("session", "destroy") => {
                self.staged.borrow_mut().remove(args[SESSION].as_str().unwrap_or_default());
                Ok(Map::new())
            }
            ("uci", _) => self.uci(method, args),
            _ => Err(Status::NotFound),
        }
    }
}

impl Callee for Router {
    fn call<'a>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &'a Map,
        waited: Duration,
    ) -> Calling<'a> {
        let request = format!("{path} {method}");
        let status =
            |status| BusError::from(CallError::Status { request: request.clone(), status });
        let answered = match self.step() {
            Err(()) => Err(status(Status::UnknownError)),
            Ok(heard) => {
                let answer = self.answer(path, method, args).map_err(status);
                let lost = BusError::from(CallError::Timeout { request: request.clone(), waited });
                heard.map_or(Err(lost), |()| answer)
            }
        };
        Box::pin(std::future::ready(answered))
    }
}

impl Host for Router {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.files.borrow().get(path).cloned();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn replace(&self, path: &Path, bytes: &[u8], _: Option<u32>) -> io::Result<()> {
        self.write(|files| drop(files.insert(path.to_owned(), bytes.to_owned())))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.read(path)?;
        self.write(|files| drop(files.remove(path)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let bytes = self.read(from)?;
        self.write(|files| {
            files.remove(from);
            files.insert(to.to_owned(), bytes);
        })
    }

    fn flush(&self, _: &Path) -> io::Result<()> {
        self.write(|_| {})
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let files = self.files.borrow();
        let names = files.keys().filter(|path| path.parent() == Some(folder));
        Ok(names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    }

    fn make_private_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<Held>> {
        struct Lock(Rc<Cell<bool>>);
        impl Drop for Lock {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        let held = self.locked.replace(true);
        Ok((!held).then(|| Box::new(Lock(self.locked.clone())) as Held))
    }

    fn now_ms(&self) -> u64 {
        1_700_000_000_000 + self.up_ms.get()
    }

    fn up_ms(&self) -> u64 {
        self.up_ms.get()
    }

    fn start_settle(&self) {}
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn edits(name: &str) -> Vec<Edit> {
    let values = json!({"hostname": name});
    read_edits(&[json!({"config": "system", "op": "set", "section": "main", "values": values})])
        .unwrap()
}

/// Applies a new name on the router as root.
fn apply(router: &Rc<Router>, name: &str) -> Result<Pending, Refusal> {
    let bus = router.bus();
    wait(async {
        let caller = Caller::of(&bus, None).await?;
        let changes = Changes::of(&bus, router.store())?;
        changes.nobody_waits().await?;
        let Value::Object(values) = config::parse_uci(&router.file()).unwrap() else { panic!() };
        let before = Packages::from([("system".to_owned(), Package::read(&values))]);
        let (edits, note) = (edits(name), String::new());
        let draft = Draft::new(before, &edits).unwrap();
        changes.apply(&caller, Order { edits, draft, seconds: SECONDS, note }).await
    })
}

fn confirm(router: &Rc<Router>, id: u64) -> Result<(), Refusal> {
    let bus = router.bus();
    wait(async {
        let caller = Caller::of(&bus, None).await?;
        Changes::of(&bus, router.store())?.confirm(&caller, id).await
    })
}

/// The time to confirm is over, and somebody calls.
fn run_out_of_time(router: &Rc<Router>) {
    router.fault.set(Fault::None);
    router.up_ms.set(router.up_ms.get() + SECONDS * 1000 + 1);
    let bus = router.bus();
    wait(async { Changes::of(&bus, router.store())?.waiting().await.map(drop) }).unwrap();
}

fn state(router: &Rc<Router>) -> Option<State> {
    router.store().record(1).unwrap().map(|record| record.state)
}

fn has_new(router: &Router) -> bool {
    let file = router.file();
    assert!(file == OLD || file.contains("'changed'"), "{file}");
    file != OLD
}

/// Steps of a whole change; nothing goes wrong.
fn steps() -> (usize, usize) {
    let router = Router::new(Fault::None);
    let id = apply(&router, "changed").unwrap().head.id;
    let applied = router.steps.get();
    confirm(&router, id).unwrap();
    assert!(has_new(&router) && state(&router) == Some(State::Confirmed));
    (applied, router.steps.get())
}

/// Any failure during apply leaves nothing changed, or the change is reverted.
#[test]
fn each_step_of_an_apply_fails_once() {
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
            // A user who finds it in force can keep it.
            confirm(&router, 1).unwrap();
            assert_eq!((has_new(&router), state(&router)), (true, Some(State::Confirmed)));
        }
        unknown
    });
    assert_eq!(unanswered.count(), 1, "the answer of uci apply");
}

/// Whatever fails while a change is confirmed: it is kept, or reverted, and its record says which.
#[test]
fn each_step_of_a_confirm_fails_once() {
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

/// Until a change is confirmed a power cut reverts it; after that it stays.
#[test]
fn the_power_goes_after_each_step() {
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
fn the_power_goes_again_at_boot() {
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

/// A second administrator applies at each step of the first one's change.
#[test]
fn two_writers_interleave() {
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
    // Between the two calls of the first one the change waits.
    let router = Router::new(Fault::None);
    apply(&router, "changed").unwrap();
    assert_eq!(apply(&router, "other").map(drop).map_err(|of| of.code), Err("pending"));
    confirm(&router, 1).unwrap();
    assert!(has_new(&router));
}

/// Why changes cannot be opened now.
fn opened(router: &Rc<Router>) -> Option<&'static str> {
    let bus = router.bus();
    Changes::of(&bus, router.store()).err().map(|refusal| refusal.code)
}

/// rpcd holds one change at a time, for all clients: ours must not end that of a browser.
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
