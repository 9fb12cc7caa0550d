// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads trees of sysfs and procfs. Each line is a file: `PATH TEXT`, `PATH -> TARGET`, or `PATH:`
//! followed by lines of text and a line with a dot.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::machine::{Knob, Serves};
use crate::set::CpuSet;

struct Tree(PathBuf);

impl Tree {
    fn new(text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("cpu-{}-{number}", std::process::id()));
        let tree = Self(root);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(path) = line.strip_suffix(':') {
                let of: Vec<&str> = lines.by_ref().take_while(|line| *line != ".").collect();
                fs::write(tree.place(path), of.join("\n")).unwrap();
            } else if let Some((path, target)) = line.split_once(" -> ") {
                symlink(target, tree.place(path)).unwrap();
            } else if let Some((path, text)) = line.split_once(' ') {
                fs::write(tree.place(path), format!("{text}\n")).unwrap();
            } else if let Some(folder) = line.strip_suffix('/') {
                fs::create_dir_all(tree.0.join(&folder[1..])).unwrap();
            }
        }
        tree
    }

    fn place(&self, path: &str) -> PathBuf {
        let path = self.0.join(&path[1..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn read(&self, devices: &[&str]) -> Machine {
        let devices = devices.iter().map(ToString::to_string).collect();
        Machine::read(&self.0, &devices).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(text: &str) -> CpuSet {
    text.parse().expect(text)
}

/// QEMU's q35 with `virtio-net-pci`: two queue pairs, three virtual CPUs, one of them offline.
const VIRTIO: &str = "\
/sys/devices/system/cpu/present 0-2
/sys/devices/system/cpu/online 0,2
/sys/devices/system/cpu/isolated 2
/sys/devices/system/cpu/cpu0/topology/thread_siblings_list 0
/sys/devices/system/cpu/cpu2/topology/thread_siblings_list 2
/sys/devices/system/node/node0/cpulist 0-2
/sys/devices/pci0000:00/0000:00:02.0/numa_node -1
/sys/devices/pci0000:00/0000:00:02.0/subsystem -> ../../../bus/pci
/sys/devices/pci0000:00/0000:00:02.0/msi_irqs/24 msix
/sys/devices/pci0000:00/0000:00:02.0/msi_irqs/25 msix
/sys/devices/pci0000:00/0000:00:02.0/msi_irqs/26 msix
/sys/devices/pci0000:00/0000:00:02.0/msi_irqs/27 msix
/sys/devices/pci0000:00/0000:00:02.0/msi_irqs/28 msix
/sys/devices/pci0000:00/0000:00:02.0/virtio0/subsystem -> ../../../../bus/virtio
/sys/devices/pci0000:00/0000:00:02.0/virtio0/driver -> ../../../../bus/virtio/drivers/virtio_net
/sys/devices/pci0000:00/0000:00:02.0/virtio0/net/lan1/device -> ../../../virtio0
/sys/devices/pci0000:00/0000:00:02.0/virtio0/net/lan1/queues/rx-0/rps_cpus 0
/sys/devices/pci0000:00/0000:00:02.0/virtio0/net/lan1/queues/rx-1/rps_cpus 5
/sys/devices/pci0000:00/0000:00:02.0/virtio0/net/lan1/queues/tx-0/xps_cpus 1
/sys/devices/pci0000:00/0000:00:02.0/virtio0/net/lan1/queues/tx-1/xps_cpus 4
/sys/class/net/lan1 -> ../../devices/pci0000:00/0000:00:02.0/virtio0/net/lan1
/proc/interrupts:
           CPU0       CPU2
  1:          9          0   IO-APIC   1-edge      i8042
 24:          0          0 PCI-MSIX-0000:00:02.0   0-edge      virtio0-config
 25:         40          0 PCI-MSIX-0000:00:02.0   1-edge      virtio0-input.0
 26:         41          0 PCI-MSIX-0000:00:02.0   2-edge      virtio0-output.0
 27:          0         12 PCI-MSIX-0000:00:02.0   3-edge      virtio0-input.1
 28:          0         13 PCI-MSIX-0000:00:02.0   4-edge      virtio0-output.1
NMI:          0          0   Non-maskable interrupts
.
/proc/irq/24/smp_affinity 5
/proc/irq/25/smp_affinity 1
/proc/irq/26/smp_affinity 1
/proc/irq/27/smp_affinity 00000000,00000004
/proc/irq/28/smp_affinity 4
";

#[test]
fn a_virtio_port_has_the_interrupts_of_its_pci_function() {
    let machine = Tree::new(VIRTIO).read(&["lan1", "gone0"]);
    let cpus: Vec<_> = machine.cpus.iter().map(|cpu| (cpu.cpu, cpu.online, cpu.node)).collect();
    assert_eq!(cpus, [(0, true, Some(0)), (1, false, Some(0)), (2, true, Some(0))]);
    assert_eq!((machine.online(), machine.usable()), (set("0,2"), set("0")));
    assert_eq!(machine.devices.len(), 1);
    let lan1 = &machine.devices[0];
    assert_eq!((lan1.name.as_str(), lan1.node), ("lan1", None));
    assert_eq!(lan1.hardware, "sys/devices/pci0000:00/0000:00:02.0/virtio0");
    let irqs: Vec<_> = lan1.irqs.iter().map(|irq| (irq.number, irq.serves)).collect();
    let queue = Serves::Queue;
    let expected =
        [(24, Serves::Other), (25, queue(0)), (26, queue(0)), (27, queue(1)), (28, queue(1))];
    assert_eq!(irqs, expected);
    assert_eq!(lan1.irqs[3].affinity, set("2"));
    assert_eq!(lan1.rx, [Some(set("")), Some(set("0,2"))]);
    assert_eq!(lan1.tx, [Some(set("0")), Some(set("2"))]);
    let rps = Knob::Rps { device: "lan1".into(), queue: 1 };
    assert_eq!(machine.knobs().get(&rps), Some(&set("0,2")));
}

/// A router with MT7986: `lan1` and `lan2` are ports of a DSA switch with conduit `eth0`, `eth1` is
/// the second MAC, and kernel threads poll both MACs.
const FILOGIC: &str = "\
/sys/devices/system/cpu/present 0-3
/sys/devices/system/cpu/online 0-3
/sys/devices/platform/15100000.ethernet/driver -> ../../../bus/platform/drivers/mtk_soc_eth
/sys/devices/platform/15100000.ethernet/subsystem -> ../../../bus/platform
/sys/class/net/eth0/device -> ../../../devices/platform/15100000.ethernet
/sys/class/net/eth0/queues/rx-0/rps_cpus 4
/sys/class/net/eth0/queues/tx-0/traffic_class 0
/sys/class/net/eth1/device -> ../../../devices/platform/15100000.ethernet
/sys/class/net/eth1/queues/rx-0/rps_cpus 0
/sys/class/net/lan1/lower_eth0 -> ../eth0
/sys/class/net/lan1/queues/rx-0/rps_cpus 0
/sys/class/net/lan2/lower_eth0 -> ../eth0
/proc/interrupts:
           CPU0       CPU1       CPU2       CPU3
 11:      57061      66034      60037      61036     GICv3  30 Level     arch_timer
 73:          0          0          0          0     GICv3 228 Level     15100000.ethernet
 74:     880020          0          0          0     GICv3 229 Level     15100000.ethernet
 75:    1240060          0          0          0     GICv3 230 Level     15100000.ethernet
.
/proc/irq/73/smp_affinity f
/proc/irq/74/smp_affinity f
/proc/irq/75/smp_affinity f
/proc/1/comm procd
/proc/801/comm napi/mtk_eth-8194
/proc/801/status:
Name:\tnapi/mtk_eth-8194
Cpus_allowed:\t2
Cpus_allowed_list:\t1
.
/proc/802/comm napi/mtk_eth-8193
/proc/802/status:
Cpus_allowed_list:\t0-3
.
/proc/803/comm napi/phy0-8195
/proc/803/status:
Cpus_allowed_list:\t0-3
.
";

#[test]
fn switch_ports_are_reduced_to_their_conduit() {
    let machine = Tree::new(FILOGIC).read(&["eth1", "lan1", "lan2"]);
    let names: Vec<&str> = machine.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["eth0", "eth1"]);
    let [eth0, eth1] = machine.devices.as_slice() else { panic!() };
    assert_eq!(eth0.carries, ["lan1", "lan2"]);
    assert_eq!(eth0.hardware, eth1.hardware);
    assert_eq!(eth0.irqs, eth1.irqs);
    let serves: Vec<_> = eth0.irqs.iter().map(|irq| (irq.number, irq.serves)).collect();
    assert_eq!(serves, [(73, Serves::Unknown), (74, Serves::Unknown), (75, Serves::Unknown)]);
    let threads: Vec<_> =
        eth0.threads.iter().map(|thread| (thread.pid, thread.affinity.to_string())).collect();
    assert_eq!(threads, [(802, "0-3".to_owned()), (801, "1".to_owned())]);
    assert_eq!((&eth0.rx, &eth0.tx), (&vec![Some(set("2"))], &vec![None]));
    assert_eq!(machine.knobs().len(), 3 + 2 + 2, "shared knobs count once");
}

/// An Intel card on two nodes with two hyperthreaded cores, a USB adapter, and a PCI bridge above
/// the card with its own interrupt.
const CARDS: &str = "\
/sys/devices/system/cpu/present 0-3
/sys/devices/system/cpu/online 0-3
/sys/devices/system/cpu/cpu0/topology/core_cpus_list 0,2
/sys/devices/system/cpu/cpu1/topology/core_cpus_list 1,3
/sys/devices/system/cpu/cpu2/topology/core_cpus_list 0,2
/sys/devices/system/cpu/cpu3/topology/core_cpus_list 1,3
/sys/devices/system/cpu/cpu1/cpu_capacity 446
/sys/devices/system/node/node0/cpulist 0,2
/sys/devices/system/node/node1/cpulist 1,3
/sys/devices/pci0000:00/0000:00:01.0/msi_irqs/30 msi
/sys/devices/pci0000:00/0000:00:01.0/subsystem -> ../../../bus/pci
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/subsystem -> ../../../../bus/pci
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/numa_node 1
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/msi_irqs/40 msix
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/msi_irqs/41 msix
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/msi_irqs/42 msix
/sys/class/net/enp1s0/device -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
/sys/class/net/enp1s0/queues/rx-0/rps_cpus 0
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1/subsystem -> ../../../../bus/pci
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1/irq 0
/sys/class/net/enp1s1/device -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.1
/sys/devices/pci0000:00/0000:00:14.0/subsystem -> ../../../bus/pci
/sys/devices/pci0000:00/0000:00:14.0/irq 29
/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/uevent x
/sys/class/net/eth9/device -> ../../../devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0
/sys/class/net/eth9/queues/rx-0/rps_cpus 0
/sys/class/net/dummy0/queues/rx-0/rps_cpus 0
/sys/class/net/bond0/lower_enp1s0 -> ../enp1s0
/sys/class/net/bond0/lower_eth9 -> ../eth9
/proc/interrupts:
            CPU0       CPU1       CPU2       CPU3
  29:          1          0          0          0 PCI-MSI-0000:00:14.0    0-edge      xhci_hcd
  30:          0          0          0          0 PCI-MSI-0000:00:01.0    0-edge      PCIe PME
  40:          1          0          0          0 PCI-MSIX-0000:01:00.0    0-edge      enp1s0
  41:         55          0          0          0 PCI-MSIX-0000:01:00.0    1-edge      enp1s0-TxRx-0
.
/proc/irq/29/smp_affinity f
/proc/irq/30/smp_affinity f
/proc/irq/40/smp_affinity f
/proc/irq/41/smp_affinity f
/proc/irq/42/smp_affinity f
";

#[test]
fn reads_cards_adapters_and_bonds() {
    let machine = Tree::new(CARDS).read(&["bond0", "dummy0", "enp1s1"]);
    let cpus: Vec<_> = machine.cpus.iter().map(|cpu| (cpu.core, cpu.node, cpu.capacity)).collect();
    let expected = [(0, Some(0), 1024), (1, Some(1), 446), (0, Some(0), 1024), (1, Some(1), 1024)];
    assert_eq!(cpus, expected);
    let [dummy0, enp1s0, enp1s1, eth9] = machine.devices.as_slice() else { panic!() };
    assert!(dummy0.irqs.is_empty() && dummy0.hardware.is_empty());
    assert_eq!((enp1s0.node, &enp1s0.carries), (Some(1), &vec!["bond0".to_owned()]));
    assert!(enp1s1.irqs.is_empty(), "the interrupt belongs to the bridge");
    // Interrupt 42 has no handler.
    let irqs: Vec<_> = enp1s0.irqs.iter().map(|irq| (irq.number, irq.serves)).collect();
    assert_eq!(irqs, [(40, Serves::Other), (41, Serves::Queue(0))]);
    let irqs: Vec<_> = eth9.irqs.iter().map(|irq| (irq.number, irq.name.as_str())).collect();
    assert_eq!(irqs, [(29, "xhci_hcd")]);
}

#[test]
fn reading_fails_without_a_list_of_cpus() {
    let tree = Tree::new("/sys/devices/system/cpu/online 0\n");
    let error = Machine::read(&tree.0, &BTreeSet::new()).unwrap_err().to_string();
    assert!(error.starts_with("read /") && error.ends_with("cpu/present"), "{error}");
    let tree = Tree::new("/sys/devices/system/cpu/present 0-\n");
    let error = Machine::read(&tree.0, &BTreeSet::new()).unwrap_err().to_string();
    assert!(error.ends_with("'0-' is not a list of CPUs such as 0-3,8"), "{error}");
}

#[test]
fn reads_the_machine_of_the_test() {
    let devices = fs::read_dir("/sys/class/net").unwrap().flatten();
    let devices = devices.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let machine = Machine::read(Path::new("/"), &devices).unwrap();
    assert!(!machine.online().is_empty());
}
