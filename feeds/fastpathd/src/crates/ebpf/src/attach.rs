// SPDX-License-Identifier: GPL-2.0-or-later
//! Attaches, replaces and detaches programs. Pinned links keep programs attached after the process
//! exits; for clsact, which has no links, the program itself is pinned. XDP also requires VLAN
//! stripping to be off.
#![expect(unsafe_code, reason = "names of devices come from the C library")]

use std::error::Error;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use aya::programs::ProgramInfo;
use netlink::RequestError;

use crate::folder::Folder;
use crate::role::{Dsa, ProgramRole};
use crate::stripping::{strip, strips};
use crate::{clsact, sys};

config::named! {
    #[derive(PartialOrd, Ord)]
    pub enum Hook {
        /// TC, since Linux 6.6.
        Tcx = "tcx",
        /// TC, before Linux 6.6.
        Clsact = "clsact",
        /// XDP in the driver.
        Native = "xdp",
        /// XDP in the network stack, for drivers without XDP.
        Generic = "xdp-generic",
    }
}

impl Hook {
    const fn role(self) -> ProgramRole {
        match self {
            Self::Tcx | Self::Clsact => ProgramRole::Tc,
            Self::Native | Self::Generic => ProgramRole::Xdp,
        }
    }

    /// Returns attach type and flags of the link; `None` for clsact, which has no links.
    const fn link(self) -> Option<(u32, u32)> {
        match self {
            Self::Tcx => Some((sys::TCX_INGRESS, 0)),
            Self::Clsact => None,
            // XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE.
            Self::Native => Some((sys::XDP, 4)),
            Self::Generic => Some((sys::XDP, 2)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attached {
    /// Index of the device, which may be gone.
    pub ifindex: u32,
    pub hook: Hook,
    /// DSA tags that the program removes.
    pub dsa: Dsa,
}

impl Attached {
    fn name(self) -> String {
        format!("{}_{}_{}", self.hook.name(), self.dsa.name(), self.ifindex)
    }

    fn from_name(name: &str) -> Option<Self> {
        let mut words = name.split('_');
        let hook = Hook::from_name(words.next()?)?;
        let dsa = Dsa::from_name(words.next()?)?;
        let ifindex = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self { ifindex, hook, dsa })
    }

    fn path(self, folder: &Folder) -> PathBuf {
        folder.links().join(self.name())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("opening the program {0}")]
    Open(PathBuf, #[source] io::Error),
    #[error("attaching to device {} at {}", .0.ifindex, .0.hook.name())]
    Link(Attached, #[source] io::Error),
    #[error("attaching to device {} at clsact", .0.ifindex)]
    Clsact(Attached, #[source] RequestError),
    #[error("there is no device {0}")]
    Device(u32, #[source] io::Error),
    #[error("pinning {0}")]
    Pin(PathBuf, #[source] io::Error),
    #[error("disabling VLAN tag offload of device {0}")]
    Strips(u32, #[source] io::Error),
    #[error("detaching the programs")]
    Before(#[source] DetachError),
}

config::coded! {
    /// [`AttachError`] as a code for the page and the API. `said` is the text of its causes.
    pub enum AttachReason {
        Open { path: String, said: String } = "open-program", "opening the program {path}: {said}";
        Link { index: u32, hook: &'static str, said: String } = "attach",
            "attaching to device {index} at {hook}: {said}";
        Device { index: u32, said: String } = "no-such-device",
            "there is no device {index}: {said}";
        Pin { path: String, said: String } = "pin", "pinning {path}: {said}";
        Strips { index: u32, said: String } = "vlan-offload",
            "disabling VLAN tag offload of device {index}: {said}";
        Before { said: String } = "detach", "detaching the programs: {said}";
    }
}

impl AttachError {
    #[must_use]
    pub fn reason(&self) -> AttachReason {
        let said = self.source().map(chain).unwrap_or_default();
        let path = |path: &Path| path.display().to_string();
        match self {
            Self::Open(file, _) => AttachReason::Open { path: path(file), said },
            Self::Link(at, _) | Self::Clsact(at, _) => {
                AttachReason::Link { index: at.ifindex, hook: at.hook.name(), said }
            }
            Self::Device(index, _) => AttachReason::Device { index: *index, said },
            Self::Pin(file, _) => AttachReason::Pin { path: path(file), said },
            Self::Strips(index, _) => AttachReason::Strips { index: *index, said },
            Self::Before(_) => AttachReason::Before { said },
        }
    }
}

/// Joins an error and its causes with colons.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    #[error("reading {0}")]
    Read(PathBuf, #[source] io::Error),
    #[error("removing {0}")]
    Remove(PathBuf, #[source] io::Error),
    #[error("removing the filter of device {0}")]
    Filter(u32, #[source] RequestError),
}

/// Attaches the pinned program to a device in place of our programs there.
///
/// # Errors
/// Returns an [`AttachError`]; the device has no program or still the old one.
pub fn attach(folder: &Folder, wanted: Attached) -> Result<(), AttachError> {
    let before = attached(folder).map_err(AttachError::Before)?;
    for old in before.into_iter().filter(|old| old.ifindex == wanted.ifindex) {
        if old == wanted && renew(folder, old).is_ok() {
            return Ok(());
        }
        remove(folder, old).map_err(AttachError::Before)?;
    }
    std::fs::create_dir_all(folder.links()).map_err(|e| AttachError::Pin(folder.links(), e))?;
    let path = wanted.path(folder);
    let program = open(folder, wanted)?;
    let Some((kind, flags)) = wanted.hook.link() else {
        name(wanted.ifindex).map_err(|e| AttachError::Device(wanted.ifindex, e))?;
        let program = program.as_fd();
        clsact::attach(program, wanted.ifindex).map_err(|e| AttachError::Clsact(wanted, e))?;
        return sys::pin(program, &path).map_err(|e| {
            // Without the pin, the filter would never be detached.
            drop(clsact::detach(wanted.ifindex, None));
            AttachError::Pin(path, e)
        });
    };
    if wanted.hook.role() == ProgramRole::Xdp {
        disable_stripping(folder, program.as_fd(), wanted.ifindex)?;
    }
    let link = sys::link(program.as_fd(), wanted.ifindex, kind, flags).map_err(|e| {
        restore_stripping(folder, wanted.ifindex);
        AttachError::Link(wanted, e)
    })?;
    sys::pin(link.as_fd(), &path).map_err(|e| AttachError::Pin(path, e))
}

/// Disables VLAN stripping, so that XDP sees the tags, and pins a record for
/// [`restore_stripping`].
fn disable_stripping(
    folder: &Folder,
    program: BorrowedFd<'_>,
    ifindex: u32,
) -> Result<(), AttachError> {
    let device = name(ifindex).map_err(|e| AttachError::Device(ifindex, e))?;
    // A driver without the setting does not strip tags.
    if !strips(&device).unwrap_or(false) {
        return Ok(());
    }
    strip(&device, false).map_err(|e| AttachError::Strips(ifindex, e))?;
    let path = stripping_record(folder, ifindex);
    match sys::pin(program, &path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(AttachError::Pin(path, e)),
        _ => Ok(()),
    }
}

/// Enables VLAN stripping if [`disable_stripping`] left a record. Ignores errors, because the
/// device may be gone.
fn restore_stripping(folder: &Folder, ifindex: u32) {
    if std::fs::remove_file(stripping_record(folder, ifindex)).is_ok() {
        drop(name(ifindex).and_then(|device| strip(&device, true)));
    }
}

fn stripping_record(folder: &Folder, ifindex: u32) -> PathBuf {
    folder.links().join(format!("rxvlan_{ifindex}"))
}

fn open(folder: &Folder, wanted: Attached) -> Result<OwnedFd, AttachError> {
    let role = wanted.hook.role();
    folder.open(wanted.dsa, role).map_err(|e| {
        let path = folder.program(wanted.dsa, role);
        AttachError::Open(path, e)
    })
}

/// Replaces an attached program with the pinned one. Restores a clsact filter that was removed by
/// other software.
///
/// # Errors
/// Returns an [`AttachError`]; the old program stays attached, except at a clsact.
pub fn renew(folder: &Folder, old: Attached) -> Result<(), AttachError> {
    if old.hook == Hook::Clsact {
        if is_current(folder, old) {
            return Ok(());
        }
        remove(folder, old).map_err(AttachError::Before)?;
        return attach(folder, old);
    }
    let program = open(folder, old)?;
    let path = old.path(folder);
    let link = sys::open(&path).map_err(|e| AttachError::Open(path, e))?;
    sys::update(link.as_fd(), program.as_fd()).map_err(|e| AttachError::Link(old, e))
}

fn is_current(folder: &Folder, old: Attached) -> bool {
    let pinned = id(&folder.program(old.dsa, old.hook.role()));
    // On an error, attach again, which reports the error.
    let is_there = |program| clsact::has_program(old.ifindex, program).unwrap_or_default();
    pinned == id(&old.path(folder)) && pinned.is_some_and(is_there)
}

fn id(path: &Path) -> Option<u32> {
    ProgramInfo::from_pin(path).ok().map(|program| program.id())
}

/// Detaches our programs from a device, which may be gone. Returns false if there were none.
///
/// # Errors
/// Returns a [`DetachError`]; some programs may be detached already.
pub fn detach(folder: &Folder, ifindex: u32) -> Result<bool, DetachError> {
    let mut any = false;
    for old in attached(folder)?.into_iter().filter(|old| old.ifindex == ifindex) {
        remove(folder, old)?;
        any = true;
    }
    Ok(any)
}

fn remove(folder: &Folder, old: Attached) -> Result<(), DetachError> {
    let path = old.path(folder);
    if old.hook == Hook::Clsact && name(old.ifindex).is_ok() {
        clsact::detach(old.ifindex, id(&path)).map_err(|e| DetachError::Filter(old.ifindex, e))?;
    }
    if old.hook.role() == ProgramRole::Xdp {
        restore_stripping(folder, old.ifindex);
    }
    if let (Some(_), Ok(link)) = (old.hook.link(), sys::open(&path)) {
        // Fails for a device that is gone.
        drop(sys::detach(link.as_fd()));
    }
    std::fs::remove_file(&path).map_err(|e| DetachError::Remove(path, e))
}

/// Returns all our attached programs, ordered by device.
///
/// # Errors
/// Returns [`DetachError::Read`] if the folder cannot be read. A missing folder counts as empty.
pub fn attached(folder: &Folder) -> Result<Vec<Attached>, DetachError> {
    let links = folder.links();
    let failed = |e| DetachError::Read(links.clone(), e);
    let entries = match std::fs::read_dir(&links) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        all.extend(name.to_str().and_then(Attached::from_name));
    }
    config::sort::values(&mut all);
    Ok(all)
}

pub fn name(ifindex: u32) -> io::Result<String> {
    let mut buffer = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the required size, `IF_NAMESIZE`.
    let found = unsafe { libc::if_indextoname(ifindex, buffer.as_mut_ptr()) };
    if found.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the function has written a null-terminated string into the buffer.
    let name = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_names_of_links() {
        for hook in Hook::ALL {
            for dsa in Dsa::ALL {
                let one = Attached { ifindex: 17, hook, dsa };
                assert_eq!(Attached::from_name(&one.name()), Some(one));
                assert!(!one.name().contains('.'));
            }
        }
        for other in ["", "tcx", "tcx_none", "tcx_none_x", "tcx_none_1_2", "tc_none_1"] {
            assert_eq!(Attached::from_name(other), None, "{other}");
        }
    }
}
