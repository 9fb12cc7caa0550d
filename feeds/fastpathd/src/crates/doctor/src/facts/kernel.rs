// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the kernel's version and its hardening.

use super::{Known, number, text};
use crate::machine::Machine;

pub(crate) const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// Missing if the kernel does not support module signatures.
pub(crate) const SIGNED: &str = "/sys/module/module/parameters/sig_enforce";
/// Missing if the kernel does not support lockdown.
pub(crate) const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
pub(crate) const POINTERS: &str = "/proc/sys/kernel/kptr_restrict";
pub(crate) const TAINTED: &str = "/proc/sys/kernel/tainted";
const MODULE: &str = "nf_tables";

#[derive(Debug, Default)]
pub(crate) struct Kernel {
    /// Version such as `6.12.107+deb13-amd64`.
    pub release: Known<String>,
    /// The kernel rejects unsigned modules. `None` if it does not support signatures.
    pub signed: Option<bool>,
    /// Active lockdown mode. Empty if there is none.
    pub lockdown: String,
    pub pointers: Known<u64>,
    pub tainted: Known<u64>,
    /// Version magic such as `6.12.107 SMP preempt mod_unload modversions`.
    pub vermagic: Known<String>,
}

pub(crate) fn read(machine: &dyn Machine) -> Kernel {
    let word = |path: &str| machine.read(path).ok().map(|text| text.trim().to_owned());
    Kernel {
        release: text(machine, RELEASE),
        signed: word(SIGNED).map(|word| word == "Y"),
        lockdown: word(LOCKDOWN).map(|text| chosen(&text).to_owned()).unwrap_or_default(),
        pointers: number(machine, POINTERS),
        tainted: number(machine, TAINTED),
        vermagic: vermagic(machine),
    }
}

/// Reads the version magic. `OpenWrt`'s modinfo (ubox) accepts only a module name.
fn vermagic(machine: &dyn Machine) -> Known<String> {
    Known::new(machine.run("modinfo", &[MODULE]).and_then(|text| {
        let found = text.lines().find_map(|line| line.strip_prefix("vermagic:"));
        found
            .map(|magic| magic.trim().to_owned())
            .ok_or_else(|| format!("modinfo does not print a vermagic for {MODULE}"))
    }))
}

/// Returns the active mode: `integrity` in `none [integrity] confidentiality`.
fn chosen(modes: &str) -> &str {
    let inside = modes.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or("", |(mode, _)| mode)
}

/// Parses major, minor and patch of a kernel version. A missing patch is 0.
pub(crate) fn version(release: &str) -> Option<[u32; 3]> {
    let digits = release.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut parts = digits.split('.').map(str::parse::<u32>);
    let major = parts.next()?.ok()?;
    let minor = parts.next()?.ok()?;
    Some([major, minor, parts.next().and_then(Result::ok).unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::Fake;

    const UBOX: &str = "filename:\t/lib/modules/6.12.1/nf_tables.ko\nlicense:\tGPL\n\
                        depends:\tnfnetlink\nvermagic:\t6.12.1 SMP modversions \n\
                        description:\tsays vermagic: too\n";

    #[test]
    fn parses_three_numbers_of_a_version() {
        assert_eq!(version("6.12.107+deb13-amd64"), Some([6, 12, 107]));
        assert_eq!(version("5.15.150"), Some([5, 15, 150]));
        assert_eq!(version("7.0-rc3"), Some([7, 0, 0]));
        assert_eq!(version("unknown"), None);
    }

    #[test]
    fn distinguishes_missing_and_disabled_features() {
        let bare = read(&Fake::new());
        assert_eq!((bare.signed, bare.lockdown.as_str()), (None, ""));
        let fake = Fake::new()
            .file(SIGNED, "N\n")
            .file(LOCKDOWN, "[none] integrity confidentiality\n")
            .refuses("modinfo -F vermagic nf_tables", "modinfo: exit status: 255")
            .prints("modinfo nf_tables", UBOX);
        let kernel = read(&fake);
        assert_eq!((kernel.signed, kernel.lockdown.as_str()), (Some(false), "none"));
        assert_eq!(kernel.vermagic.get().unwrap(), "6.12.1 SMP modversions");
        let kmod = "filename:       /x.ko.xz\nvermagic:       6.12.2 SMP \nparm: a:b\n";
        let kernel = read(&Fake::new().prints("modinfo nf_tables", kmod));
        assert_eq!(kernel.vermagic.get().unwrap(), "6.12.2 SMP");
        let built_in = "name:\t\tnf_tables\nfilename:\t(builtin)\nlicense:\tGPL\n";
        let kernel = read(&Fake::new().prints("modinfo nf_tables", built_in));
        let why = kernel.vermagic.get().unwrap_err().to_string();
        assert!(why.contains("vermagic for nf_tables"), "{why}");
    }
}
