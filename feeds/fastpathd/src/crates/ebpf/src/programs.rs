// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads the object made by `bpf/build` and pins its programs and maps. Also runs the heartbeat
//! program.
#![expect(unsafe_code, reason = "the resolution of this clock has no safe form")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use aya::maps::{Array, Map, MapData};
use aya::programs::{ProgramError, SchedClassifier, Xdp};
use aya::{Ebpf, EbpfError, EbpfLoader};
use thiserror::Error;

use crate::folder::Folder;
use crate::layout::{Control, Entry4, Entry6, Exits};
use crate::sys;

pub use crate::role::{Dsa, LoadOptions, ProgramRole};

pub const CONTROL: &str = ".bss";

/// Names of a map in the folder and in the object, and the sizes of its keys and values.
struct Shape {
    name: &'static str,
    object: &'static str,
    key: usize,
    value: usize,
}

impl Shape {
    /// Reports whether a kernel map has this shape and, for flows, this capacity.
    fn fits(&self, map: &MapData, flows: u32) -> bool {
        map.info().is_ok_and(|info| {
            let sized = self.name.starts_with("flows");
            info.key_size() as usize == self.key
                && (info.value_size() as usize == self.value || self.name == "devices")
                && (!sized || info.max_entries() == flows)
        })
    }
}

const fn shape<K, V>(name: &'static str) -> Shape {
    Shape { name, object: name, key: size_of::<K>(), value: size_of::<V>() }
}

/// Maps that stay when programs are reloaded. The value size of `devices` depends on the kernel.
const PINNED: [Shape; 5] = [
    shape::<u64, Entry4>("flows4"),
    shape::<u64, Entry6>("flows6"),
    Shape { object: CONTROL, ..shape::<u32, Control>("control") },
    shape::<u32, Exits>("exits"),
    shape::<u32, u64>("devices"),
];

#[derive(Debug, Error)]
pub enum LoadError {
    #[error("making the folder {0}")]
    Folder(PathBuf, #[source] io::Error),
    #[error("removing {0}, which has another layout")]
    Remove(PathBuf, #[source] io::Error),
    #[error("recording the digest of the loaded object in {0}")]
    Mark(PathBuf, #[source] io::Error),
    #[error("loading the object")]
    Object(#[source] Box<EbpfError>),
    #[error("the object has no program {0}")]
    Missing(&'static str),
    #[error("loading the program {0}")]
    Refused(&'static str, #[source] Box<ProgramError>),
    #[error("pinning {0}")]
    Pin(PathBuf, #[source] io::Error),
}

/// Loaded programs. The kernel unloads them with the process unless they are pinned.
pub struct Programs {
    object: Ebpf,
}

impl Programs {
    /// Loads `object`. With a folder, adopts pinned maps of the same layout and replaces pinned
    /// programs.
    ///
    /// # Errors
    /// Returns a [`LoadError`] with all programs unloaded; maps may stay pinned.
    pub fn load(
        object: &[u8],
        folder: Option<&Folder>,
        settings: LoadOptions,
    ) -> Result<Self, LoadError> {
        let dsa = settings.dsa as u8;
        let mut loader = EbpfLoader::new();
        // Small kernels have no BTF, and no program needs it.
        loader.btf(None);
        loader.override_global("dsa", &dsa, true);
        let mut control = Control::default();
        loader.map_max_entries("flows4", settings.flows);
        loader.map_max_entries("flows6", settings.flows);
        if let Some(folder) = folder {
            make_folder(folder.path())?;
            let found = read_control(&folder.map("control"));
            let foreign = found.is_some_and(|control| control.is_foreign());
            for shape in &PINNED {
                let path = folder.map(shape.name);
                discard_other(&path, shape, settings.flows, foreign)?;
                loader.map_pin_path(shape.object, path);
            }
            control = found.filter(|_| !foreign).unwrap_or_default();
            // A running daemon may have changed the secret since: wait for its next heartbeat.
            control.alive_until = 0;
        }
        // Loading initializes the variables, so pass the secret of the entries in the maps.
        loader.override_global("control", &control, true);
        let object = loader.load(object).map_err(|e| LoadError::Object(Box::new(e)))?;
        let mut programs = Self { object };
        for role in ProgramRole::ALL {
            programs.enter(role)?;
            if let Some(folder) = folder {
                programs.pin(role, &folder.program(settings.dsa, role))?;
            }
        }
        Ok(programs)
    }

    /// Loads `object` into `folder` unless it is loaded, because the verifier takes a second or
    /// more on a small router. Returns true if it was loaded now.
    pub fn ensure(
        object: &[u8],
        folder: &Folder,
        settings: LoadOptions,
    ) -> Result<bool, LoadError> {
        let mark = folder.mark(object, settings);
        let stays = maps_stay(folder, settings.flows);
        let mut roles = ProgramRole::ALL.into_iter();
        if stays && mark.exists() && roles.all(|role| folder.program(settings.dsa, role).exists()) {
            return Ok(false);
        }
        // Programs for other switches use the old maps, so they must be loaded again, too.
        for dsa in Dsa::ALL.into_iter().filter(|dsa| !stays || *dsa == settings.dsa) {
            let marks = folder.marks(dsa);
            match std::fs::remove_dir_all(&marks) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(LoadError::Mark(marks, e));
                }
                _ => {}
            }
        }
        Self::load(object, Some(folder), settings)?;
        Ok(true)
    }

    /// Records that `object` is loaded. Called after the new programs are attached, so that the
    /// next load retries a failure.
    pub fn note(object: &[u8], folder: &Folder, settings: LoadOptions) -> Result<(), LoadError> {
        let mark = folder.mark(object, settings);
        std::fs::create_dir_all(&mark).map_err(|e| LoadError::Mark(mark, e))
    }

    fn enter(&mut self, role: ProgramRole) -> Result<(), LoadError> {
        let name = role.name();
        let refused = |e| LoadError::Refused(name, Box::new(e));
        match role {
            ProgramRole::Tc | ProgramRole::Beat => self.tc(role)?.load().map_err(refused),
            ProgramRole::Xdp | ProgramRole::Pass => self.xdp(role)?.load().map_err(refused),
        }
    }

    fn pin(&mut self, role: ProgramRole, path: &Path) -> Result<(), LoadError> {
        let failed = |e| LoadError::Pin(path.to_path_buf(), e);
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        sys::pin(self.fd(role)?, path).map_err(failed)
    }

    pub fn fd(&mut self, role: ProgramRole) -> Result<BorrowedFd<'_>, LoadError> {
        let fd = match role {
            ProgramRole::Tc | ProgramRole::Beat => self.tc(role)?.fd(),
            ProgramRole::Xdp | ProgramRole::Pass => self.xdp(role)?.fd(),
        };
        fd.map(AsFd::as_fd).map_err(|_| LoadError::Missing(role.name()))
    }

    /// Returns the TC program [`ProgramRole::Tc`] or [`ProgramRole::Beat`].
    ///
    /// # Errors
    /// Returns [`LoadError::Missing`] for another role.
    pub fn tc(&mut self, role: ProgramRole) -> Result<&mut SchedClassifier, LoadError> {
        let missing = LoadError::Missing(role.name());
        let Some(program) = self.object.program_mut(role.name()) else { return Err(missing) };
        program.try_into().map_err(|_| missing)
    }

    /// Returns the XDP program [`ProgramRole::Xdp`] or [`ProgramRole::Pass`].
    ///
    /// # Errors
    /// Returns [`LoadError::Missing`] for another role.
    pub fn xdp(&mut self, role: ProgramRole) -> Result<&mut Xdp, LoadError> {
        let missing = LoadError::Missing(role.name());
        let Some(program) = self.object.program_mut(role.name()) else { return Err(missing) };
        program.try_into().map_err(|_| missing)
    }

    #[must_use]
    pub fn take_map(&mut self, name: &str) -> Option<Map> {
        self.object.take_map(name)
    }
}

fn make_folder(path: &Path) -> Result<(), LoadError> {
    std::fs::create_dir_all(path).map_err(|e| LoadError::Folder(path.to_path_buf(), e))
}

/// Reads the values of the last heartbeat. The layout is 0 before the first heartbeat.
fn read_control(path: &Path) -> Option<Control> {
    let control = MapData::from_pin(path).and_then(Map::from_map_data).ok()?;
    Array::<MapData, Control>::try_from(control).ok()?.get(&0, 0).ok()
}

/// Reports whether all pinned maps fit this object.
fn maps_stay(folder: &Folder, flows: u32) -> bool {
    let fits = |shape: &Shape| {
        MapData::from_pin(folder.map(shape.name)).is_ok_and(|map| shape.fits(&map, flows))
    };
    PINNED.iter().all(fits)
        && read_control(&folder.map("control")).is_some_and(|found| !found.is_foreign())
}

/// Unpins a map that does not fit this object.
fn discard_other(path: &Path, shape: &Shape, flows: u32, foreign: bool) -> Result<(), LoadError> {
    let Ok(map) = MapData::from_pin(path) else { return Ok(()) };
    if shape.fits(&map, flows) && !foreign {
        return Ok(());
    }
    std::fs::remove_file(path).map_err(|e| LoadError::Remove(path.to_path_buf(), e))
}

#[derive(Debug, Error)]
#[error("running the program fastpath_beat")]
pub struct BeatError(#[source] pub io::Error);

/// Runs [`ProgramRole::Beat`] to extend the lifetime of entries to `jiffies` from now, and to set
/// the secret of their keys; 0 keeps it. Returns the layout of the programs.
pub fn heartbeat(program: BorrowedFd<'_>, jiffies: u32, secret: u64) -> Result<u64, BeatError> {
    // The kernel requires a frame. The context is the prefix of `struct __sk_buff` up to the mark.
    let mut frame = [0; 64];
    frame[..8].copy_from_slice(&secret.to_ne_bytes());
    let mut context = [0; 12];
    context[8..].copy_from_slice(&jiffies.to_ne_bytes());
    sys::run(program, &frame, &context).map(u64::from).map_err(BeatError)
}

/// Runs [`ProgramRole::Beat`] to start the waiting entries of two keys. Returns false if an entry
/// is missing or has ended.
pub fn start(program: BorrowedFd<'_>, keys: &[u8]) -> Result<bool, BeatError> {
    sys::run(program, keys, &[0; 12]).map(|started| started == 1).map_err(BeatError)
}

/// Returns jiffies per second, derived from the resolution of the coarse clock.
#[must_use]
pub fn jiffies_a_second() -> u32 {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the timespec lives longer than the call.
    let ok = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    match u32::try_from(tick.tv_nsec) {
        Ok(nanoseconds @ 1..) if ok == 0 => (1_000_000_000 + nanoseconds / 2) / nanoseconds,
        _ => 100,
    }
}
