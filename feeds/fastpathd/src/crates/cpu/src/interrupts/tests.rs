// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

#[test]
fn parses_names_after_the_last_two_spaces() {
    let text = "           CPU0       CPU1       \n  \
        0:         40          0   IO-APIC   2-edge      timer\n \
        11:          0          3   IO-APIC  11-fasteoi   uhci_hcd:usb1, eth2\n \
        26:          0        813 PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0\n\
        NMI:          0          0   Non-maskable interrupts\n \
        45:     120000          0     GICv3 229 Level     15100000.ethernet\n \
        20:       9000          0  MIPS GIC  10  1e100000.ethernet\n \
        99:          0          0\n";
    let names = names(text);
    let name = |irq: u32| names.get(&irq).map(String::as_str);
    assert_eq!(name(0), Some("timer"));
    assert_eq!(name(11), Some("uhci_hcd:usb1, eth2"));
    assert_eq!(name(26), Some("virtio0-input.0"));
    assert_eq!(name(45), Some("15100000.ethernet"));
    assert_eq!(name(20), Some("1e100000.ethernet"));
}

#[test]
fn matches_owners_as_whole_words() {
    assert!(owned("eth0", "eth0"));
    assert!(owned("eth0:rx-0", "eth0"));
    assert!(owned("uhci_hcd:usb1, eth2", "eth2"));
    assert!(owned("virtio0-input.0", "virtio0"));
    for (name, owner) in
        [("eth01", "eth0"), ("xeth0", "eth0"), ("eth0", ""), ("virtio10", "virtio1")]
    {
        assert!(!owned(name, owner), "{name} {owner}");
    }
}

#[test]
fn parses_the_queue_in_the_names_of_many_drivers() {
    let pci = "0000:03:00.0";
    for (name, expected) in [
        ("eth0-TxRx-3", Some(3)),
        ("i40e-eth0-TxRx-11", Some(11)),
        ("eth0-Tx-Rx-2", Some(2)),
        ("eth0-rx-1", Some(1)),
        ("eth0:tx-7", Some(7)),
        ("eth0-rxtx0", Some(0)),
        ("virtio3-input.2", Some(2)),
        ("virtio3-output.2", Some(2)),
        ("mlx5_comp12@pci:0000:03:00.0", Some(12)),
        ("mlx4-5@0000:03:00.0", Some(5)),
        ("eth0-fp-4", Some(4)),
        ("eth1-6", Some(6)),
        ("hns3-0000:03:00.0-TxRx-9", Some(9)),
        ("eth0", None),
        ("virtio3-config", None),
        ("15100000.ethernet", None),
        ("mlx5_async0@pci:0000:03:00.0", None),
        ("ice-0000:03:00.0:misc", None),
        ("i40e-0000:03:00.0:fdir-TxRx-0", None),
        ("xhci-hcd:usb1", None),
        ("", None),
    ] {
        assert_eq!(queue(name, pci), expected, "{name}");
    }
}

#[test]
fn names_without_a_queue_are_other_or_unknown() {
    let igc = ["enp3s0", "enp3s0-TxRx-0", "enp3s0-TxRx-1"];
    assert_eq!(serves(&igc, ""), [Serves::Other, Serves::Queue(0), Serves::Queue(1)]);
    let mtk = ["15100000.ethernet"; 3];
    assert_eq!(serves(&mtk, "15100000.ethernet"), [Serves::Unknown; 3]);
}
