// SPDX-License-Identifier: GPL-2.0-or-later
//! Which hook the devices of a gateway get, and why; and that they get it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use thiserror::Error;

use crate::ability::{Ability, ability};
use crate::attach::{AttachError, Attached, Hook, attach, detach};
use crate::folder::Folder;
use crate::programs::Dsa;
use crate::{elements, sys};

/// A device, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its index.
    pub ifindex: u32,
    /// There is hardware behind it, or a machine's idea of it.
    pub physical: bool,
    /// What its driver can; none if the kernel does not tell.
    pub ability: Option<Ability>,
}

impl Device {
    /// What the kernel says of a device.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub fn look(name: &str) -> io::Result<Self> {
        let text = std::ffi::CString::new(name)?;
        // SAFETY: the string lives longer than the call.
        let ifindex = unsafe { libc::if_nametoindex(text.as_ptr()) };
        if ifindex == 0 {
            return Err(io::Error::last_os_error());
        }
        let physical = std::fs::exists(format!("/sys/class/net/{name}/device"))?;
        Ok(Self { name: name.to_owned(), ifindex, physical, ability: ability(ifindex)? })
    }
}

/// Why the devices have TC and not native XDP.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotNative {
    /// Senders behind virtual devices leave checksums to hardware that is not there.
    #[error("{0} is virtual: its packets may have incomplete checksums")]
    Virtual(String),
    /// A driver without XDP.
    #[error("the driver of {0} does not support XDP")]
    NoXdp(String),
    /// A driver that cannot send what comes from elsewhere.
    #[error("the driver of {0} does not support XDP redirects to it")]
    CannotSend(String),
    /// A kernel before 6.3.
    #[error("the kernel does not report driver features")]
    Untold,
    /// A driver that said it could.
    #[error("rejected by {0}")]
    Refused(String),
}

/// Whether all devices can have native XDP. They have it together or not at all: what one of them
/// redirects another has to send.
///
/// # Errors
///
/// Why not, by the first device that cannot.
pub fn can_redirect(devices: &[Device]) -> Result<(), NotNative> {
    for device in devices {
        if !device.physical {
            return Err(NotNative::Virtual(device.name.clone()));
        }
        match device.ability {
            None => return Err(NotNative::Untold),
            Some(ability) if !ability.redirects => {
                return Err(NotNative::NoXdp(device.name.clone()));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether all can send; some drivers say so only while they have a program.
///
/// # Errors
///
/// Why not, by the first device that cannot.
pub fn can_send(devices: &[Device]) -> Result<(), NotNative> {
    let cannot = devices.iter().find(|device| !device.ability.is_some_and(|a| a.sends));
    cannot.map_or(Ok(()), |device| Err(NotNative::CannotSend(device.name.clone())))
}

/// A device, and what came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Which.
    pub device: Device,
    /// Where the program is.
    pub hook: Result<Hook, AttachError>,
    /// Why it is not native XDP, if that was to be chosen.
    pub why: Option<NotNative>,
}

/// Attaches to all devices: at `wish`, or at the best that they can together. What the folder has
/// at others stays.
///
/// # Errors
///
/// The map of devices that XDP may send to cannot be written. A device that fails is an outcome.
pub fn attach_all(
    folder: &Folder,
    dsa: Dsa,
    devices: Vec<Device>,
    wish: Option<Hook>,
) -> Result<Vec<Outcome>, SendError> {
    let at = |device: &Device, hook| {
        attach(folder, Attached { ifindex: device.ifindex, hook, dsa }).map(|()| hook)
    };
    let outcomes = if let Some(hook) = wish {
        let each = devices.into_iter().map(|device| {
            let hook = at(&device, hook);
            Outcome { device, hook, why: None }
        });
        each.collect()
    } else {
        match native(folder, dsa, &devices) {
            Ok(()) => {
                let done = |device| Outcome { device, hook: Ok(Hook::Native), why: None };
                devices.into_iter().map(done).collect()
            }
            Err(why) => {
                let each = devices.into_iter().map(|device| {
                    let hook =
                        at(&device, Hook::Tcx).or_else(|e| older(e, at(&device, Hook::Clsact)));
                    Outcome { device, hook, why: Some(why.clone()) }
                });
                each.collect::<Vec<_>>()
            }
        }
    };
    let mut sendable = Sendable::open(folder)?;
    for Outcome { device, hook, .. } in &outcomes {
        match hook {
            Ok(Hook::Native | Hook::Generic) => sendable.add(device.ifindex)?,
            _ => sendable.remove(device.ifindex)?,
        }
    }
    Ok(outcomes)
}

/// The error of TCX counts where clsact does not work either.
fn older(tcx: AttachError, clsact: Result<Hook, AttachError>) -> Result<Hook, AttachError> {
    clsact.map_err(|_| tcx)
}

/// Native XDP at all devices, or at none.
fn native(folder: &Folder, dsa: Dsa, devices: &[Device]) -> Result<(), NotNative> {
    can_redirect(devices)?;
    let attached = devices.iter().try_for_each(|device| {
        let wanted = Attached { ifindex: device.ifindex, hook: Hook::Native, dsa };
        attach(folder, wanted).map_err(|_| NotNative::Refused(device.name.clone()))
    });
    let now = devices
        .iter()
        .map(|device| Device { ability: ability(device.ifindex).ok().flatten(), ..device.clone() });
    let result = attached.and_then(|()| can_send(&now.collect::<Vec<_>>()));
    if result.is_err() {
        for device in devices {
            // What stays is replaced when TC comes in its place, and told then.
            drop(detach(folder, device.ifindex));
        }
    }
    result
}

/// Why the map of devices cannot be written.
#[derive(Debug, Error)]
pub enum SendError {
    /// The kernel does not take them, or nobody has loaded them.
    #[error("the eBPF programs are not in the kernel: loading them failed, see the system log")]
    Absent,
    /// It is not ours to open.
    #[error("opening the map devices")]
    Open(#[source] io::Error),
    /// The kernel refuses.
    #[error("writing device {0} into the map devices")]
    Write(u32, #[source] io::Error),
}

/// The devices that XDP may send to.
pub struct Sendable {
    map: OwnedFd,
    /// Its values have room for a program, too.
    wide: bool,
}

impl Sendable {
    /// Opens the pinned map.
    ///
    /// # Errors
    ///
    /// [`SendError::Absent`], [`SendError::Open`].
    pub fn open(folder: &Folder) -> Result<Self, SendError> {
        let map = sys::open(&folder.map("devices")).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => SendError::Absent,
            _ => SendError::Open(e),
        })?;
        let info = elements::info(map.as_fd()).map_err(SendError::Open)?;
        Ok(Self { map, wide: info.value_size > 4 })
    }

    /// Lets XDP send to a device.
    ///
    /// # Errors
    ///
    /// [`SendError::Write`], such as for a device that is gone.
    pub fn add(&mut self, ifindex: u32) -> Result<(), SendError> {
        let map = self.map.as_fd();
        let written = if self.wide {
            elements::put(map, &ifindex, &[ifindex, 0])
        } else {
            elements::put(map, &ifindex, &ifindex)
        };
        written.map_err(|e| SendError::Write(ifindex, e))
    }

    /// No longer; there may have been none.
    ///
    /// # Errors
    ///
    /// [`SendError::Write`].
    pub fn remove(&mut self, ifindex: u32) -> Result<(), SendError> {
        let removed = elements::delete(self.map.as_fd(), &ifindex);
        removed.map_err(|e| SendError::Write(ifindex, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, physical: bool, redirects: bool, sends: bool) -> Device {
        let ability = Some(Ability { redirects, sends });
        Device { name: name.to_owned(), ifindex: 1, physical, ability }
    }

    #[test]
    fn native_xdp_is_for_all_or_none() {
        let good = || device("eth0", true, true, true);
        assert_eq!(can_redirect(&[good(), good()]), Ok(()));
        assert_eq!(can_send(&[good(), good()]), Ok(()));
        let name = || "lan1".to_owned();
        let with = |other: Device| [good(), other];
        let old = device("lan1", true, false, false);
        assert_eq!(can_redirect(&with(old)), Err(NotNative::NoXdp(name())));
        let veth = device("lan1", false, true, true);
        assert_eq!(can_redirect(&with(veth)), Err(NotNative::Virtual(name())));
        let deaf = device("lan1", true, true, false);
        assert_eq!(can_redirect(&with(deaf.clone())), Ok(()));
        assert_eq!(can_send(&with(deaf)), Err(NotNative::CannotSend(name())));
        let untold = Device { ability: None, ..good() };
        assert_eq!(can_redirect(&with(untold.clone())), Err(NotNative::Untold));
        assert!(can_send(&with(untold)).is_err());
    }
}
