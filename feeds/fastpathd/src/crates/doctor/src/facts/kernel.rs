// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the kernel: version, signatures of modules, lockdown, visible addresses, taint, vermagic.

use super::{Known, number, text};
use crate::machine::Machine;

/// Where its version is.
pub(crate) const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// Whether modules without a signature are refused; not there: the kernel knows no signatures.
pub(crate) const SIGNED: &str = "/sys/module/module/parameters/sig_enforce";
/// How far root itself is kept from the kernel; not there: not at all.
pub(crate) const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
/// Whether addresses of the kernel are hidden.
pub(crate) const POINTERS: &str = "/proc/sys/kernel/kptr_restrict";
/// Flags of events since boot that taint the kernel.
pub(crate) const TAINTED: &str = "/proc/sys/kernel/tainted";
/// A module that every router with a firewall has.
const MODULE: &str = "nf_tables";

/// The kernel.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    /// `6.12.107+deb13-amd64`.
    pub release: Known<String>,
    /// Whether unsigned modules are refused; none: it does not support signatures.
    pub signed: Option<bool>,
    /// The mode in brackets of the lockdown file; empty: it has none.
    pub lockdown: String,
    /// `kernel.kptr_restrict`.
    pub pointers: Known<u64>,
    /// `kernel.tainted`.
    pub tainted: Known<u64>,
    /// The kernel that a module is made for, `6.12.107 SMP preempt mod_unload modversions`.
    pub vermagic: Known<String>,
}

/// Reads it.
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

/// `OpenWrt`'s modinfo (ubox) takes the name of a module and nothing else.
fn vermagic(machine: &dyn Machine) -> Known<String> {
    Known::new(machine.run("modinfo", &[MODULE]).and_then(|text| {
        let found = text.lines().find_map(|line| line.strip_prefix("vermagic:"));
        found
            .map(|magic| magic.trim().to_owned())
            .ok_or_else(|| format!("modinfo does not print a vermagic for {MODULE}"))
    }))
}

/// `integrity` of `none [integrity] confidentiality`.
fn chosen(modes: &str) -> &str {
    let inside = modes.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or("", |(mode, _)| mode)
}

/// Major, minor, patch of a kernel's version; a part that is not there is 0.
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

    /// As `OpenWrt`'s modinfo prints it, which takes one argument and no option.
    const UBOX: &str = "filename:\t/lib/modules/6.12.1/nf_tables.ko\nlicense:\tGPL\n\
                        depends:\tnfnetlink\nvermagic:\t6.12.1 SMP modversions \n\
                        description:\tsays vermagic: too\n";

    #[test]
    fn versions_have_three_numbers() {
        assert_eq!(version("6.12.107+deb13-amd64"), Some([6, 12, 107]));
        assert_eq!(version("5.15.150"), Some([5, 15, 150]));
        assert_eq!(version("7.0-rc3"), Some([7, 0, 0]));
        assert_eq!(version("unknown"), None);
    }

    #[test]
    fn missing_features_are_distinguished() {
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
