// SPDX-License-Identifier: GPL-2.0-or-later
//! A simulated router: files on a medium, rpcd, one fault, and calls of administrators.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use plugin::{Bus, BusError, Callee, Calling, Map, Refusal, SESSION, map};
use serde_json::{Value, json};
use ubus::{CallError, Status};

use super::medium::Medium;
use crate::caller::Caller;
use crate::disk::Kernel;
use crate::draft::Draft;
use crate::edit::{Edit, read_edits};
use crate::host::{Held, Host};
use crate::record::{Pending, State};
use crate::store::Store;
use crate::transaction::{ChangeRequest, Changes};
use crate::watch::roll_back_at_boot;
use ::uci::text;
use ::uci::{Package, Packages};

const SECONDS: u64 = 30;
pub(super) const OLD: &str = "config system 'main'\n\toption hostname 'gateway'\n";
pub(super) const CONFIG: &str = "/etc/config/system";

/// A fault at a step, from 1. File operations and calls are steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The step fails without effect.
    Refused(usize),
    /// The step succeeds, but its answer is lost.
    Unanswered(usize),
    /// The power fails after the step.
    PowerCut(usize),
}

pub(super) type Interruption = Box<dyn FnOnce()>;

pub(super) struct Router {
    pub(super) medium: RefCell<Medium>,
    pub(super) up_ms: Cell<u64>,
    pub(super) fault: Cell<Fault>,
    pub(super) steps: Cell<usize>,
    locked: Rc<Cell<bool>>,
    /// The file at the last `config.change` event.
    pub(super) told: RefCell<Option<String>>,
    staged: RefCell<BTreeMap<String, Vec<Value>>>,
    /// Session of the applied change, and the file before the change.
    pub(super) applied: RefCell<Option<(String, Vec<u8>)>>,
    made: Cell<usize>,
    /// The disk is full. rpcd still reports success, does not write, and truncates the files that
    /// it restores.
    pub(super) full: Cell<bool>,
    /// Step number and action of another client.
    pub(super) interruption: RefCell<Option<(usize, Interruption)>>,
}

impl Router {
    pub(super) fn new(fault: Fault) -> Rc<Self> {
        let folders = ["/etc", "/etc/config", "/var", "/var/run", "/var/run/fastpath-change"];
        Self::with(Medium::with(&folders, &[(CONFIG, OLD)]), fault)
    }

    /// Returns a router after boot.
    pub(super) fn with(medium: Medium, fault: Fault) -> Rc<Self> {
        Rc::new(Self {
            medium: RefCell::new(medium),
            up_ms: Cell::new(1000),
            fault: Cell::new(fault),
            steps: Cell::default(),
            locked: Rc::default(),
            told: RefCell::default(),
            staged: RefCell::default(),
            applied: RefCell::default(),
            made: Cell::default(),
            full: Cell::default(),
            interruption: RefCell::default(),
        })
    }

    pub(super) fn store(self: &Rc<Self>) -> Store {
        Store::on(self.clone(), Path::new("/"))
    }

    pub(super) fn bus(self: &Rc<Self>) -> Bus {
        Bus::of(self.clone())
    }

    pub(super) fn file(&self) -> String {
        String::from_utf8(self.medium.borrow().read(Path::new(CONFIG)).unwrap()).unwrap()
    }

    /// Edits the file like a shell.
    pub(super) fn edit(&self, name: &str) {
        let text = OLD.replace("gateway", name);
        self.medium.borrow_mut().overwrite(Path::new(CONFIG), text.as_bytes()).unwrap();
    }

    fn is_off(&self) -> bool {
        matches!(self.fault.get(), Fault::PowerCut(at) if self.steps.get() >= at)
    }

    /// Counts a step. Fails if the power is off.
    fn count(&self) -> Result<usize, ()> {
        if self.is_off() {
            return Err(());
        }
        let number = self.steps.get() + 1;
        self.steps.set(number);
        let due = self.interruption.borrow_mut().take_if(|(at, _)| *at == number);
        if let Some((_, run)) = due {
            run();
        }
        Ok(number)
    }

    /// Begins a step. Fails if the step fails, and returns `None` if its answer is lost.
    fn step(&self) -> Result<Option<()>, ()> {
        let number = self.count()?;
        match self.fault.get() {
            Fault::Refused(at) if at == number => Err(()),
            Fault::Unanswered(at) if at == number => Ok(None),
            Fault::None | Fault::Refused(_) | Fault::Unanswered(_) | Fault::PowerCut(_) => {
                Ok(Some(()))
            }
        }
    }

    /// Runs a file operation as a step.
    fn operate(&self, operation: impl FnOnce(&mut Medium) -> io::Result<()>) -> io::Result<()> {
        self.step().map_err(|()| io::Error::other("no space left"))?;
        operation(&mut self.medium.borrow_mut())
    }

    /// Runs a file operation of rpcd, where only the power may fail.
    fn rpcd(&self, operation: impl FnOnce(&mut Medium) -> io::Result<()>) -> Result<(), Status> {
        self.count().map_err(|()| Status::UnknownError)?;
        operation(&mut self.medium.borrow_mut()).map_err(|_| Status::UnknownError)
    }

    /// Returns the routers before boot, one for each outcome of a power cut at this moment.
    pub(super) fn after_power_cut(&self) -> Vec<Rc<Self>> {
        let mut medium = self.medium.borrow().clone();
        medium.clear_folder(Path::new("/var/run"));
        let outcomes = (0..medium.outcomes()).map(|outcome| medium.after_power_cut(outcome));
        outcomes.map(|medium| Self::with(medium, Fault::None)).collect()
    }

    pub(super) fn boot(self: &Rc<Self>) {
        self.fault.set(Fault::None);
        self.medium.borrow_mut().clear_folder(Path::new("/var/run"));
        self.staged.borrow_mut().clear();
        self.applied.borrow_mut().take();
        self.locked.set(false);
        self.up_ms.set(0);
        roll_back_at_boot(&self.store()).unwrap();
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
                edit.remove(SESSION);
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
                if !self.full.get() {
                    // uci does not flush the folder.
                    let new = Path::new("/etc/config/.system.uci-Xa3b9c");
                    let config = Path::new(CONFIG);
                    self.rpcd(|medium| medium.create(new, after.as_bytes()))?;
                    self.rpcd(|medium| medium.flush(new))?;
                    self.rpcd(|medium| medium.rename(new, config))?;
                }
                *self.applied.borrow_mut() = Some((session.to_owned(), before));
                *self.told.borrow_mut() = Some(self.file());
                Ok(Map::new())
            }
            "confirm" | "rollback" => {
                let applied = self.applied.borrow_mut().take_if(|(by, _)| by == session);
                let (_, before) = applied.ok_or(Status::NoData)?;
                if method == "rollback" {
                    self.copy_back(&before)?;
                    *self.told.borrow_mut() = Some(self.file());
                }
                Ok(Map::new())
            }
            other => panic!("uci {other} is not played here"),
        }
    }

    /// Restores the file like rpcd: in place and without a flush.
    pub(super) fn copy_back(&self, before: &[u8]) -> Result<(), Status> {
        self.rpcd(|medium| medium.overwrite(Path::new(CONFIG), b""))?;
        if self.full.get() {
            return Ok(());
        }
        self.rpcd(|medium| medium.overwrite(Path::new(CONFIG), before))
    }

    fn answer(&self, object: &str, method: &str, args: &Map) -> Result<Map, Status> {
        match (object, method) {
            ("session", "create") => {
                self.made.set(self.made.get() + 1);
                let id = format!("made{}", self.made.get());
                self.staged.borrow_mut().insert(id.clone(), Vec::new());
                Ok(map([(SESSION, json!(id))]))
            }
            ("session", "grant") => Ok(Map::new()),
            ("service", "event") => {
                *self.told.borrow_mut() = Some(self.file());
                Ok(Map::new())
            }
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
            Ok(delivered) => {
                let answer = self.answer(path, method, args).map_err(status);
                let lost = BusError::from(CallError::Timeout { request: request.clone(), waited });
                delivered.map_or(Err(lost), |()| answer)
            }
        };
        Box::pin(std::future::ready(answered))
    }
}

impl Kernel for Router {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.medium.borrow().read(path)
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        let exists = self.medium.borrow().exists(path);
        if exists { Ok(0o600) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.medium.borrow().names(folder)
    }

    fn create(&self, path: &Path, bytes: &[u8], _: u32) -> io::Result<()> {
        self.operate(|medium| medium.create(path, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(|medium| medium.rename(from, to))
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        if !self.medium.borrow().exists(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.operate(|medium| medium.unlink(path))
    }

    fn make_folder(&self, path: &Path, _: u32) -> io::Result<()> {
        self.operate(|medium| medium.make_folder(path))
    }

    fn flush(&self, path: &Path) -> io::Result<()> {
        self.operate(|medium| medium.flush(path))
    }
}

impl Host for Router {
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

pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

pub(super) fn edits(name: &str) -> Vec<Edit> {
    let values = json!({"hostname": name});
    read_edits(&[json!({"config": "system", "op": "set", "section": "main", "values": values})])
        .unwrap()
}

pub(super) fn apply(router: &Rc<Router>, name: &str) -> Result<Pending, Refusal> {
    apply_edits(router, edits(name))
}

pub(super) fn packages(router: &Rc<Router>) -> Packages {
    let Value::Object(values) = config::parse_uci(&router.file()).unwrap() else { panic!() };
    Packages::from([("system".to_owned(), Package::read(&values))])
}

pub(super) fn apply_edits(router: &Rc<Router>, edits: Vec<Edit>) -> Result<Pending, Refusal> {
    let bus = router.bus();
    wait(async {
        let caller = Caller::of(&bus, None).await?;
        let changes = Changes::of(&bus, router.store())?;
        changes.refuse_if_pending().await?;
        let (draft, note) = (Draft::new(packages(router), &edits).unwrap(), String::new());
        changes
            .apply(
                &caller,
                ChangeRequest { edits, draft, seconds: SECONDS, note, end_connections: false },
            )
            .await
    })
}

pub(super) fn confirm(router: &Rc<Router>, id: u64) -> Result<(), Refusal> {
    let bus = router.bus();
    wait(async {
        let caller = Caller::of(&bus, None).await?;
        Changes::of(&bus, router.store())?.confirm(&caller, id).await
    })
}

/// Ends the fault, and lets the change expire.
pub(super) fn expire_unconfirmed(router: &Rc<Router>) {
    router.fault.set(Fault::None);
    expire(router).unwrap();
}

pub(super) fn expire(router: &Rc<Router>) -> Result<(), Refusal> {
    router.up_ms.set(router.up_ms.get() + SECONDS * 1000 + 1);
    let bus = router.bus();
    wait(async { Changes::of(&bus, router.store())?.waiting().await.map(drop) })
}

pub(super) fn undo_edits(router: &Rc<Router>, id: u64) -> Vec<Edit> {
    let record = router.store().record(id).unwrap().unwrap();
    crate::undo::inverse(&record.draft, &packages(router)).unwrap()
}

pub(super) fn revert(router: &Rc<Router>, id: u64) -> Result<(), Refusal> {
    let bus = router.bus();
    wait(async {
        let caller = Caller::of(&bus, None).await?;
        Changes::of(&bus, router.store())?.revert(&caller, id).await
    })
}

pub(super) fn state(router: &Rc<Router>) -> Option<State> {
    router.store().record(1).unwrap().map(|record| record.state)
}

pub(super) fn is_changed(router: &Router) -> bool {
    let file = router.file();
    assert!(file == OLD || file.contains("'changed'"), "{file}");
    file != OLD
}

/// Returns the number of steps of an apply, and of an apply with confirm.
pub(super) fn steps() -> (usize, usize) {
    let router = Router::new(Fault::None);
    let id = apply(&router, "changed").unwrap().head.id;
    let applied = router.steps.get();
    confirm(&router, id).unwrap();
    assert!(is_changed(&router) && state(&router) == Some(State::Confirmed));
    (applied, router.steps.get())
}

/// Returns the code of the refusal if the changes cannot be opened.
pub(super) fn refusal_to_open(router: &Rc<Router>) -> Option<&'static str> {
    let bus = router.bus();
    Changes::of(&bus, router.store()).err().map(|refusal| refusal.code)
}
