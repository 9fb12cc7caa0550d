// SPDX-License-Identifier: GPL-2.0-or-later
//! Chooses the hook and attaches the programs: native XDP if all devices support it, otherwise TCX,
//! otherwise clsact. Also writes the map of devices that XDP may send to.
#![expect(unsafe_code, reason = "names of devices come from the C library")]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use thiserror::Error;

use crate::ability::{Ability, ability};
use crate::attach::{AttachError, Attached, Hook, attach, detach};
use crate::folder::Folder;
use crate::role::Dsa;
use crate::{elements, sys};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    pub ifindex: u32,
    /// True if the device has a driver for hardware, real or emulated.
    pub physical: bool,
    pub ability: Option<Ability>,
}

impl Device {
    pub fn read(name: &str) -> io::Result<Self> {
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

config::coded! {
    /// Reasons why native XDP is not used.
    pub enum TcReason {
        Virtual { device: String } = "virtual",
            "{device} is virtual: its packets may have incomplete checksums";
        NoXdp { device: String } = "no-xdp", "the driver of {device} does not support XDP";
        CannotSend { device: String } = "no-xdp-redirect",
            "the driver of {device} does not support XDP redirects to it";
        Unknown = "no-driver-features", "the kernel does not report driver features";
        // The driver reports support but rejects the program.
        Refused { device: String } = "xdp-rejected", "rejected by {device}";
    }
}

/// Checks that all devices support native XDP, because packets are redirected between any two of
/// them. Fails with the first obstacle.
pub fn can_redirect(devices: &[Device]) -> Result<(), TcReason> {
    for device in devices {
        if !device.physical {
            return Err(TcReason::Virtual { device: device.name.clone() });
        }
        match device.ability {
            None => return Err(TcReason::Unknown),
            Some(ability) if !ability.redirects => {
                return Err(TcReason::NoXdp { device: device.name.clone() });
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Checks that all devices can send redirected packets. Some drivers report this only while a
/// program is attached.
pub fn can_send(devices: &[Device]) -> Result<(), TcReason> {
    let cannot = devices.iter().find(|device| !device.ability.is_some_and(|a| a.sends));
    cannot.map_or(Ok(()), |device| Err(TcReason::CannotSend { device: device.name.clone() }))
}

#[derive(Debug)]
pub struct DeviceOutcome {
    pub device: Device,
    pub hook: Result<Hook, AttachError>,
    /// Reason against native XDP, unless the hook was configured.
    pub why: Option<TcReason>,
}

/// Attaches to all devices at `chosen`, or at the best hook that all of them support. Programs at
/// other devices stay.
///
/// # Errors
/// Fails if the map of devices that XDP may send to cannot be written. Each outcome has the error
/// of its device.
pub fn attach_all(
    folder: &Folder,
    dsa: Dsa,
    devices: Vec<Device>,
    chosen: Option<Hook>,
) -> Result<Vec<DeviceOutcome>, SendError> {
    let at = |device: &Device, hook| {
        attach(folder, Attached { ifindex: device.ifindex, hook, dsa }).map(|()| hook)
    };
    let native = chosen.map_or_else(|| native(folder, dsa, &devices), |_| Ok(()));
    let outcome = |device| {
        let (hook, why) = match (chosen, &native) {
            (Some(hook), _) => (at(&device, hook), None),
            (None, Ok(())) => (Ok(Hook::Native), None),
            (None, Err(why)) => {
                // If clsact fails as well, report the error of TCX.
                let clsact = |tcx| at(&device, Hook::Clsact).map_err(|_| tcx);
                (at(&device, Hook::Tcx).or_else(clsact), Some(why.clone()))
            }
        };
        DeviceOutcome { device, hook, why }
    };
    let outcomes: Vec<_> = devices.into_iter().map(outcome).collect();
    let mut sendable = RedirectMap::open(folder)?;
    for DeviceOutcome { device, hook, .. } in &outcomes {
        match hook {
            Ok(Hook::Native | Hook::Generic) => sendable.add(device.ifindex)?,
            _ => sendable.remove(device.ifindex)?,
        }
    }
    Ok(outcomes)
}

/// Attaches native XDP to all devices, or to none if it fails at one.
fn native(folder: &Folder, dsa: Dsa, devices: &[Device]) -> Result<(), TcReason> {
    can_redirect(devices)?;
    let attached = devices.iter().try_for_each(|device| {
        let wanted = Attached { ifindex: device.ifindex, hook: Hook::Native, dsa };
        attach(folder, wanted).map_err(|_| TcReason::Refused { device: device.name.clone() })
    });
    let now = devices
        .iter()
        .map(|device| Device { ability: ability(device.ifindex).ok().flatten(), ..device.clone() });
    let result = attached.and_then(|()| can_send(&now.collect::<Vec<_>>()));
    if result.is_err() {
        for device in devices {
            // Ignore errors: attaching TC replaces the program or reports the error.
            drop(detach(folder, device.ifindex));
        }
    }
    result
}

#[derive(Debug, Error)]
pub enum SendError {
    #[error("the eBPF programs are not in the kernel: loading them failed, see the system log")]
    Absent,
    #[error("opening the map devices")]
    Open(#[source] io::Error),
    #[error("writing device {0} into the map devices")]
    Write(u32, #[source] io::Error),
}

/// The pinned map of devices that XDP may send to.
pub struct RedirectMap {
    map: OwnedFd,
    /// True if map values have a second field, for a program (`struct bpf_devmap_val`).
    wide: bool,
}

impl RedirectMap {
    pub fn open(folder: &Folder) -> Result<Self, SendError> {
        let map = sys::open(&folder.map("devices")).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => SendError::Absent,
            _ => SendError::Open(e),
        })?;
        let info = elements::info(map.as_fd()).map_err(SendError::Open)?;
        Ok(Self { map, wide: info.value_size > 4 })
    }

    pub fn add(&mut self, ifindex: u32) -> Result<(), SendError> {
        let map = self.map.as_fd();
        let written = if self.wide {
            elements::put(map, &ifindex, &[ifindex, 0])
        } else {
            elements::put(map, &ifindex, &ifindex)
        };
        written.map_err(|e| SendError::Write(ifindex, e))
    }

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
    fn native_xdp_requires_support_by_all_devices() {
        let good = || device("eth0", true, true, true);
        assert_eq!(can_redirect(&[good(), good()]), Ok(()));
        assert_eq!(can_send(&[good(), good()]), Ok(()));
        let name = || "lan1".to_owned();
        let with = |other: Device| [good(), other];
        let old = device("lan1", true, false, false);
        assert_eq!(can_redirect(&with(old)), Err(TcReason::NoXdp { device: name() }));
        let veth = device("lan1", false, true, true);
        assert_eq!(can_redirect(&with(veth)), Err(TcReason::Virtual { device: name() }));
        let unable = device("lan1", true, true, false);
        assert_eq!(can_redirect(&with(unable.clone())), Ok(()));
        assert_eq!(can_send(&with(unable)), Err(TcReason::CannotSend { device: name() }));
        let unknown = Device { ability: None, ..good() };
        assert_eq!(can_redirect(&with(unknown.clone())), Err(TcReason::Unknown));
        assert!(can_send(&with(unknown)).is_err());
    }
}
