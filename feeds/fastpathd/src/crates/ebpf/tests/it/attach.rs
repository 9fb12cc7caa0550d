// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs `fastpath-bpf` in a network namespace.
#![expect(unsafe_code, reason = "the test runs in a network namespace of its own")]

use std::path::PathBuf;
use std::process::Command;

use aya::maps::{Array, HashMap, Map, MapData};
use aya::programs::{SchedClassifier, TcAttachType};
use ebpf::folder::Folder;
use ebpf::layout::{Control, Entry4, LAYOUT};
use ebpf::pinned::Pinned;
use ebpf::programs::Dsa;
use ebpf::stripping::{strip, strips};
use serde_json::{Value, json};

use crate::kernel;

fn shell(command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).output().expect("a shell");
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {report}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Two pairs of virtual devices, and the folder of the programs.
struct Gateway {
    folder: String,
    object: PathBuf,
}

impl Gateway {
    fn new() -> Self {
        // SAFETY: the call takes no pointers.
        let thread = unsafe { libc::gettid() };
        let name = format!("attach.{thread}.o");
        let object = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&object, kernel::object()).expect("written");
        shell(
            "for pair in a b; do
                 ip link add ${pair}0 type veth peer name ${pair}1
                 ip link set ${pair}0 up
                 ip link set ${pair}1 up
             done",
        );
        Self { folder: format!("/sys/fs/bpf/fastpath-attach-{thread}"), object }
    }

    fn run(&self, words: &[&str]) -> Result<Value, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fastpath-bpf"));
        let output = command.args(["--folder", &self.folder]).args(words).output().expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(serde_json::from_str(&text(&output.stdout)).expect("JSON"))
        } else {
            Err(text(&output.stderr))
        }
    }

    fn load(&self, flows: u32) -> Value {
        let object = self.object.to_str().expect("a path");
        self.run(&["load", "--object", object, "--flows", &flows.to_string()]).expect("loads")
    }

    /// Changes the digest of the object with an unused byte at the end.
    fn alter_object(&self) {
        let mut object = std::fs::read(&self.object).expect("read");
        object.push(0);
        std::fs::write(&self.object, object).expect("written");
    }

    fn map(&self, name: &str) -> Map {
        let data = MapData::from_pin(format!("{}/{name}", self.folder)).expect("pinned");
        Map::from_map_data(data).expect("a map")
    }

    fn flows4(&self) -> HashMap<MapData, u64, Entry4> {
        self.map("flows4").try_into().expect("a hash")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.run(&["unload"]));
        drop(std::fs::remove_file(&self.object));
    }
}

fn on_gateway(test: impl FnOnce(&Gateway) + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let run = move || {
        // SAFETY: only this thread enters the namespace, and it runs only this test.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
            .expect("a network namespace");
        test(&Gateway::new());
    };
    std::thread::spawn(run).join().expect("the test holds");
}

/// Returns the programs and hooks that the kernel reports for a device.
fn at(device: &str) -> Vec<String> {
    let mut found = Vec::new();
    let link = shell(&format!("ip -d link show {device}"));
    for mode in ["xdpgeneric", "xdp/", "prog/xdp"] {
        if link.contains(mode) {
            found.push(mode.to_owned());
        }
    }
    if let Ok((_, programs)) = SchedClassifier::query_tcx(device, TcAttachType::Ingress) {
        let names = programs.iter().filter_map(|p| p.name_as_str().map(str::to_owned));
        found.extend(names.map(|name| format!("tcx {name}")));
    }
    if shell(&format!("tc qdisc show dev {device}")).contains("clsact") {
        found.push("clsact".into());
    }
    if shell(&format!("tc filter show dev {device} ingress")).contains("fastpath_tc") {
        found.push("filter".into());
    }
    found
}

fn has_tcx() -> bool {
    let there = SchedClassifier::query_tcx("lo", TcAttachType::Ingress).is_ok();
    if !there {
        println!("skipped: this kernel has no TCX");
    }
    there
}

fn program_at(device: &str) -> u32 {
    let (_, programs) =
        SchedClassifier::query_tcx(device, TcAttachType::Ingress).expect("a kernel with TCX");
    programs.first().expect("one").id()
}

#[test]
fn attaches_at_every_hook_and_detaches_without_traces() {
    on_gateway(|gateway| {
        gateway.load(16);
        let clean = at("a1");
        assert!(clean.is_empty(), "{clean:?}");
        for (hook, wanted) in [
            ("tcx", &["tcx fastpath_tc"][..]),
            ("clsact", &["clsact", "filter"]),
            ("xdp", &["prog/xdp"]),
            ("xdp-generic", &["xdpgeneric", "prog/xdp"]),
        ] {
            if hook == "tcx" && !has_tcx() {
                continue;
            }
            let report = gateway.run(&["attach", "--hook", hook, "a1", "b1"]).expect("attached");
            for (n, device) in ["a1", "b1"].into_iter().enumerate() {
                assert_eq!(report[n]["hook"], hook, "{report}");
                assert_eq!(report[n]["device"], device);
                assert_eq!(at(device), wanted, "{hook}");
                // Only XDP disables stripping.
                let taken = strips(device).expect("reported");
                assert_eq!(taken, !hook.starts_with("xdp"), "{hook}");
            }
            let shown = gateway.run(&["show"]).expect("shown");
            assert_eq!(shown.as_array().map(Vec::len), Some(2), "{shown}");
            let rest = gateway.run(&["detach", "a1"]).expect("detached");
            assert_eq!(rest.as_array().map(Vec::len), Some(1), "{rest}");
            assert_eq!(at("a1"), clean, "{hook}");
            assert!(strips("a1").expect("reported"), "{hook}: restored");
            // The next hook replaces the program at the other device.
            assert_eq!(at("b1"), wanted, "{hook}");
        }
        // Detaching does not enable stripping that was disabled before.
        strip("a1", false).expect("virtual Ethernet can");
        gateway.run(&["attach", "--hook", "xdp", "a1"]).expect("attached");
        gateway.run(&["unload"]).expect("unloaded");
        assert!(!strips("a1").expect("reported"));
        assert!(strips("b1").expect("reported"));
        assert_eq!(at("b1"), clean);
        assert!(!std::path::Path::new(&gateway.folder).exists());
        assert_eq!(gateway.run(&["show"]), Ok(json!([])));
        assert_eq!(gateway.run(&["unload"]), Ok(json!([])));
    });
}

#[test]
fn virtual_devices_use_tc_and_report_the_reason() {
    on_gateway(|gateway| {
        gateway.load(16);
        let report = gateway.run(&["attach", "a1", "b1"]).expect("attached");
        assert_eq!(report[0]["hook"], if has_tcx() { "tcx" } else { "clsact" });
        let why = "a1 is virtual: its packets may have incomplete checksums";
        assert_eq!(report[0]["why"], why);
        assert_eq!(report[1]["why"], why);
    });
}

#[test]
fn reports_devices_that_fail_or_do_not_exist() {
    on_gateway(|gateway| {
        let before = gateway.run(&["attach", "a1"]).expect_err("no programs");
        assert!(before.contains("programs are not in the kernel"), "{before}");
        gateway.load(16);
        let missing = gateway.run(&["attach", "a1", "none0"]).expect_err("no device");
        assert!(missing.contains("reading the properties of none0"), "{missing}");
        assert!(at("a1").is_empty());
        // The loopback device has no native XDP.
        let report = gateway.run(&["attach", "--hook", "xdp", "lo", "a1"]).expect("reported");
        assert_eq!(report[0]["hook"], Value::Null);
        assert!(report[0]["error"].as_str().is_some_and(|e| e.contains("at xdp")), "{report}");
        assert_eq!(report[1]["hook"], "xdp");
        // The next load removes the stale record of a removed device.
        shell("ip link del a1");
        let shown = gateway.run(&["show"]).expect("shown");
        assert_eq!(shown[0]["device"], Value::Null);
        gateway.load(16);
        assert_eq!(gateway.run(&["show"]), Ok(json!([])));
    });
}

#[test]
fn keeps_a_clsact_with_filters_of_another_program() {
    on_gateway(|gateway| {
        gateway.load(16);
        let pinned = format!("{}/none/fastpath_tc", gateway.folder);
        shell(&format!(
            "tc qdisc add dev a1 clsact
             tc filter add dev a1 egress bpf direct-action object-pinned {pinned}",
        ));
        gateway.run(&["attach", "--hook", "clsact", "a1"]).expect("attached");
        assert_eq!(at("a1"), ["clsact", "filter"]);
        gateway.run(&["detach", "a1"]).expect("detached");
        assert_eq!(at("a1"), ["clsact"]);
    });
}

/// On kernels without tracing, filters of old versions have no name.
#[test]
fn removes_our_filter_even_without_its_name() {
    on_gateway(|gateway| {
        gateway.load(16);
        gateway.run(&["attach", "--hook", "clsact", "a1", "b1"]).expect("attached");
        let pinned = format!("{}/none/fastpath_tc", gateway.folder);
        shell(&format!(
            "for port in a1 b1; do
                 tc filter del dev $port ingress
                 tc filter add dev $port ingress bpf direct-action object-pinned {pinned}
             done
             tc filter add dev b1 ingress pref 9 bpf bytecode '1,6 0 0 0'",
        ));
        // Unpin the program, as a replacement by another object does.
        shell(&format!("rm {pinned}"));
        gateway.run(&["detach", "a1", "b1"]).expect("detached");
        assert_eq!(at("a1"), [""; 0]);
        assert_eq!(at("b1"), ["clsact"]);
        let filters = shell("tc filter show dev b1 ingress");
        assert!(filters.contains("pref 9 ") && !filters.contains("direct-action"), "{filters}");
    });
}

#[test]
fn attach_restores_a_removed_filter() {
    on_gateway(|gateway| {
        gateway.load(16);
        let attach = || gateway.run(&["attach", "--hook", "clsact", "a1", "b1"]).expect("attached");
        let filters = |device| shell(&format!("tc filter show dev {device} ingress"));
        attach();
        shell(
            "tc qdisc del dev a1 clsact
             tc qdisc add dev a1 clsact
             tc filter add dev a1 ingress pref 9 bpf bytecode '1,6 0 0 0'
             tc filter add dev b1 ingress bpf bytecode '1,6 0 0 0'",
        );
        assert_eq!(at("a1"), ["clsact"]);
        let before = filters("b1");
        attach();
        assert_eq!(at("a1"), ["clsact", "filter"]);
        assert!(filters("a1").contains("pref 9 "), "{}", filters("a1"));
        // A new filter would have another priority.
        assert_eq!(filters("b1"), before);
        gateway.run(&["detach", "a1"]).expect("detached");
        assert_eq!(at("a1"), ["clsact"]);
    });
}

#[test]
fn maps_have_the_requested_capacity() {
    on_gateway(|gateway| {
        for flows in [262_144, 16] {
            gateway.load(flows);
            let maps = Pinned::open(&Folder::new(&gateway.folder), Dsa::None).expect("maps");
            assert_eq!(u32::try_from(maps.capacity()), Ok(flows));
        }
    });
}

#[test]
fn reloads_the_programs_of_other_switches_with_new_maps() {
    on_gateway(|gateway| {
        let object = gateway.object.to_str().expect("a path");
        let load = |dsa: &str, flows: &str| {
            let words = ["load", "--object", object, "--flows", flows, "--dsa", dsa];
            gateway.run(&words).expect("loads");
            let none = format!("{}/none/fastpath_tc", gateway.folder);
            aya::programs::ProgramInfo::from_pin(none).expect("pinned").id()
        };
        let first = load("none", "16");
        assert_eq!(load("mtk", "16"), first, "maps are shared");
        load("mtk", "32");
        load("mtk", "16");
        assert_ne!(load("none", "16"), first, "the maps were replaced");
    });
}

#[test]
fn flows_stay_when_programs_are_replaced() {
    on_gateway(|gateway| {
        if !has_tcx() {
            return;
        }
        gateway.load(16);
        gateway.run(&["attach", "--hook", "tcx", "a1"]).expect("attached");
        gateway.run(&["attach", "--hook", "clsact", "b1"]).expect("attached");
        let key = 7;
        gateway.flows4().insert(key, Entry4::default(), 0).expect("put");
        let old = program_at("a1");
        let shown = gateway.load(16);
        assert_eq!(shown.as_array().map(Vec::len), Some(2));
        assert_eq!(program_at("a1"), old, "an unchanged object is not loaded again");
        gateway.alter_object();
        let shown = gateway.load(16);
        assert_eq!(shown.as_array().map(Vec::len), Some(2));
        assert_ne!(program_at("a1"), old, "a new program");
        assert_eq!(at("b1"), ["clsact", "filter"]);
        assert!(gateway.flows4().get(&key, 0).is_ok(), "the flow stays");
        // Maps of another size or layout are replaced.
        gateway.load(32);
        assert!(gateway.flows4().get(&key, 0).is_err());
        gateway.flows4().insert(key, Entry4::default(), 0).expect("put");
        let mut control: Array<MapData, Control> =
            gateway.map("control").try_into().expect("an array");
        let other = Control { layout: LAYOUT + 1, ..Control::default() };
        control.set(0, other, 0).expect("set");
        gateway.load(32);
        assert!(gateway.flows4().get(&key, 0).is_err());
        let control: Array<MapData, Control> = gateway.map("control").try_into().expect("an array");
        assert_eq!(
            control.get(&0, 0).expect("there"),
            Control::default(),
            "the other layout is discarded"
        );
        let other = Control { alive_until: 7, now: 5, layout: LAYOUT, secret: 3 };
        let mut control: Array<MapData, Control> =
            gateway.map("control").try_into().expect("an array");
        control.set(0, other, 0).expect("set");
        gateway.flows4().insert(key, Entry4::default(), 0).expect("put");
        gateway.alter_object();
        gateway.load(32);
        assert!(gateway.flows4().get(&key, 0).is_ok());
        let control: Array<MapData, Control> = gateway.map("control").try_into().expect("an array");
        // The daemon may have changed the secret meanwhile, so its next heartbeat comes first.
        let loaded = Control { alive_until: 0, ..other };
        assert_eq!(control.get(&0, 0).expect("there"), loaded, "the secret stays");
    });
}

#[test]
fn retries_a_port_where_replacing_the_program_failed() {
    on_gateway(|gateway| {
        if !has_tcx() {
            return;
        }
        gateway.load(16);
        gateway.run(&["attach", "--hook", "tcx", "a1"]).expect("attached");
        let old = program_at("a1");
        gateway.alter_object();
        // Replace the pinned link with a map, whose program cannot be updated.
        let links = format!("{}/links", gateway.folder);
        let link = shell(&format!("ls {links}"));
        let link = format!("{links}/{}", link.trim());
        shell(&format!(
            "mv {link} {}/kept && ln {}/control {link}",
            gateway.folder, gateway.folder
        ));
        let object = gateway.object.to_str().expect("a path");
        let load = ["load", "--object", object, "--flows", "16"];
        let report = gateway.run(&load).expect_err("no link to change");
        assert!(report.contains("attaching to device"), "{report}");
        shell(&format!("rm {link} && mv {}/kept {link}", gateway.folder));
        assert_eq!(program_at("a1"), old);
        gateway.load(16);
        assert_ne!(program_at("a1"), old, "the same object is attached again");
    });
}
