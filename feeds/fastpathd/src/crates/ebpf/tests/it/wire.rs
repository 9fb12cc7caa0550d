// SPDX-License-Identifier: GPL-2.0-or-later
//! Sends frames over virtual Ethernet through attached programs. Packet sockets cover cases that
//! test runs cannot: partial checksums, GSO packets, VLAN stripping and redirection by the kernel.
#![expect(unsafe_code, reason = "packet sockets with auxiliary data have no safe form")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;

use aya::programs::{SchedClassifier, TcAttachType};
use ebpf::attach::{Attached, Hook as Point, attach, attached, detach};
use ebpf::devices::RedirectMap;
use ebpf::folder::Folder;
use ebpf::layout::{Control, EXIT_PORTS, Exits, Out};
use ebpf::programs::{CONTROL, Dsa, LoadOptions, ProgramRole, Programs, heartbeat};

use crate::dissect::{Expected, check};
use crate::flow::{Flow, Pair};
use crate::frame::{Packet, checksum};
use crate::kernel::{Hook, allowed, object};
use crate::table::{expected, flow, forwarded, links_in, links_out, translations};

const SOL_PACKET: i32 = 263;
const PACKET_AUXDATA: i32 = 8;
const PACKET_VNET_HDR: i32 = 15;
const ETH_P_ALL: u16 = 3;

/// Size of `struct virtio_net_hdr`, in native byte order.
const VNET: usize = 10;
const NEEDS_CSUM: u8 = 1;

/// Offloads that are left to hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    /// Partial checksum: start of the checksummed bytes, and the offset of the checksum in them.
    check: Option<(u16, u16)>,
    /// GSO: type of virtio, and payload bytes per segment.
    cut: Option<(u8, u16)>,
}

struct Socket(OwnedFd);

impl Socket {
    fn open(ifindex: u32) -> Self {
        let protocol = ETH_P_ALL.to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(protocol)) };
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the descriptor is new, and nothing else owns it.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        socket.set(PACKET_VNET_HDR);
        socket.set(PACKET_AUXDATA);
        // SAFETY: all zeros are a valid address.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = u16::try_from(libc::AF_PACKET).expect("small");
        address.sll_protocol = protocol;
        address.sll_ifindex = ifindex.cast_signed();
        let size = u32::try_from(size_of_val(&address)).expect("small");
        // SAFETY: the address outlives the call, and its size is given.
        let bound = unsafe { libc::bind(fd, (&raw const address).cast(), size) };
        assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
        socket
    }

    fn set(&self, option: i32) {
        let on = 1_i32;
        let (fd, value) = (self.0.as_raw_fd(), (&raw const on).cast());
        // SAFETY: the value is a number of four bytes.
        let set = unsafe { libc::setsockopt(fd, SOL_PACKET, option, value, 4) };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }

    fn send(&self, frame: &[u8], left: Left) {
        let mut bytes = vec![0; VNET];
        if let Some((start, offset)) = left.check {
            bytes[0] = NEEDS_CSUM;
            bytes[6..8].copy_from_slice(&start.to_ne_bytes());
            bytes[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
        if let (Some((kind, size)), Some((start, offset))) = (left.cut, left.check) {
            bytes[1] = kind;
            let headers = if offset == 16 { start + 20 } else { start + 8 };
            bytes[2..4].copy_from_slice(&headers.to_ne_bytes());
            bytes[4..6].copy_from_slice(&size.to_ne_bytes());
        }
        bytes.extend(frame);
        let (fd, data) = (self.0.as_raw_fd(), bytes.as_ptr().cast());
        // SAFETY: the buffer outlives the call, and its size is given.
        let sent = unsafe { libc::send(fd, data, bytes.len(), 0) };
        let error = std::io::Error::last_os_error();
        assert_eq!(usize::try_from(sent).ok(), Some(bytes.len()), "{error}: {left:?} {frame:02x?}");
    }

    /// Returns `skb->protocol` of the next packet, or `None` if the queue is empty.
    fn protocol(&self) -> Option<u16> {
        let mut bytes = [0_u8; 64];
        // SAFETY: all zeros are a valid address.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut size = u32::try_from(size_of_val(&address)).expect("small");
        let (fd, data) = (self.0.as_raw_fd(), bytes.as_mut_ptr().cast());
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        let from = (&raw mut address).cast();
        // SAFETY: buffer and address outlive the call, and their sizes are given.
        let got = unsafe { libc::recvfrom(fd, data, bytes.len(), flags, from, &raw mut size) };
        (got > 0).then(|| u16::from_be(address.sll_protocol))
    }

    /// Returns the next frame as on the wire, with its offloads, or `None` if the queue is empty.
    fn receive(&self) -> Option<(Vec<u8>, Left)> {
        let mut bytes = vec![0_u8; 80_000];
        let mut control = [0_u64; 16];
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: all zeros are an empty message.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let fd = self.0.as_raw_fd();
        // SAFETY: the message points to buffers that outlive the call, with their sizes.
        let filled = unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_DONTWAIT) };
        let filled = usize::try_from(filled).ok()?;
        bytes.truncate(filled);
        let short = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let check = (bytes[0] & NEEDS_CSUM != 0).then(|| (short(6), short(8)));
        let cut = (bytes[1] != 0).then(|| (bytes[1], short(4)));
        // After a header of 16 bytes, `struct tpacket_auxdata`: status, two lengths, two offsets,
        // TCI, protocol.
        let aux: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let status = u32::from_ne_bytes(aux[16..20].try_into().expect("four"));
        let tag = |at: usize| u16::from_ne_bytes([aux[at], aux[at + 1]]).to_be_bytes();
        let mut frame = bytes.split_off(VNET);
        if let Some((start, offset)) = check {
            let (start, offset) = (usize::from(start), usize::from(offset));
            let sum = checksum(&[&frame[start..]]);
            let sum = if offset == 6 && sum == 0 { 0xffff } else { sum };
            frame[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
        }
        if status & 0x10 != 0 {
            let words = [tag(34), tag(32)].concat();
            frame.splice(12..12, words);
        }
        Some((frame, Left { check, cut }))
    }
}

/// Two pairs of devices in the namespace of this thread. The programs are attached to `inside.0`.
struct Wire {
    folder: Folder,
    programs: Programs,
    outside: (Socket, Socket),
    /// Captures frames at the egress device.
    egress: Socket,
    inside: (u32, u32),
    hook: Hook,
    flows4: aya::maps::HashMap<aya::maps::MapData, u64, ebpf::layout::Entry4>,
    flows6: aya::maps::HashMap<aya::maps::MapData, u64, ebpf::layout::Entry6>,
    secret: u64,
    exits: aya::maps::PerCpuArray<aya::maps::MapData, Exits>,
}

fn shell(command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).output().expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn index(name: &str) -> u32 {
    shell(&format!("ip -o link show {name}")).split(':').next().expect("one").parse().expect("n")
}

impl Wire {
    fn new(point: Point) -> Self {
        shell(
            "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
             for pair in a b; do
                 ip link add ${pair}0 type veth peer name ${pair}1
                 ip link set ${pair}0 mtu 9000 up
                 ip link set ${pair}1 mtu 9000 up
             done
             # Frames are lost before the carrier is up.
             n=0
             while ip link show up | grep -qE 'state (DOWN|LOWERLAYERDOWN|UNKNOWN)'; do
                 n=$((n + 1)); [ $n -lt 200 ]; sleep 0.02
             done",
        );
        // SAFETY: the call takes no pointers.
        let thread = unsafe { libc::gettid() };
        let path = format!("/sys/fs/bpf/fastpath-wire-{thread}");
        let folder = Folder::new(path);
        let settings = LoadOptions { flows: 64, dsa: Dsa::None };
        let mut programs = Programs::load(object(), Some(&folder), settings).expect("loads");
        let inside = (index("a1"), index("b0"));
        let wanted = Attached { ifindex: inside.0, hook: point, dsa: Dsa::None };
        attach(&folder, wanted).expect("attached");
        assert_eq!(attached(&folder).expect("read"), [wanted]);
        let hook = match point {
            Point::Tcx | Point::Clsact => Hook::Tc,
            Point::Native | Point::Generic => {
                // A veth device accepts redirected packets only while its peer has a program.
                let other = Attached { ifindex: index("b1"), ..wanted };
                attach(&folder, other).expect("attached");
                RedirectMap::open(&folder).expect("pinned").add(inside.1).expect("a device");
                Hook::Xdp
            }
        };
        let flows4 = programs.take_map("flows4").expect("there").try_into().expect("a hash");
        let flows6 = programs.take_map("flows6").expect("there").try_into().expect("a hash");
        let exits = programs.take_map("exits").expect("there").try_into().expect("an array");
        heartbeat(programs.fd(ProgramRole::Beat).expect("there"), 1_000_000, 0).expect("beats");
        let control = programs.take_map(CONTROL).expect("there");
        let control = aya::maps::Array::<_, Control>::try_from(control).expect("an array");
        let secret = control.get(&0, 0).expect("there").secret;
        let outside = (Socket::open(index("a0")), Socket::open(index("b1")));
        let egress = Socket::open(inside.1);
        Self { folder, programs, outside, egress, inside, hook, flows4, flows6, secret, exits }
    }

    fn put(&mut self, pair: &Pair) {
        match pair {
            Pair::V4(key, to) => self.flows4.insert(key.hash(self.secret), to, 0).expect("put"),
            Pair::V6(key, to) => self.flows6.insert(key.hash(self.secret), to, 0).expect("put"),
        }
    }

    fn count(&self, out: Out) -> u64 {
        let each = (0..EXIT_PORTS).map(|port| self.exits.get(&port, 0).expect("there"));
        each.map(|each| each.iter().map(|one| one.out[out as usize]).sum::<u64>()).sum()
    }

    /// Returns all exit counters as text.
    fn exits(&self) -> String {
        let each = Out::ALL.iter().map(|out| format!("{} {} ", out.name(), self.count(*out)));
        each.collect()
    }

    fn send(&mut self, flow: &Flow, frame: &[u8], left: Left) {
        let flow = Flow { devices: self.inside, ..flow.clone() };
        self.put(&flow.pair(self.hook));
        while self.outside.1.receive().is_some() || self.egress.protocol().is_some() {}
        self.outside.0.send(frame, left);
    }

    fn receive(&self) -> Option<(Vec<u8>, Left)> {
        // The frame has arrived unless another CPU is still processing the queue.
        for _ in 0..200 {
            let received = self.outside.1.receive();
            if received.is_some() {
                return received;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        None
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for one in attached(&self.folder).unwrap_or_default() {
            drop(detach(&self.folder, one.ifindex));
        }
        drop(std::fs::remove_dir_all(self.folder.path()));
        let _ = &self.programs;
    }
}

fn on_wire(point: Point, test: impl FnOnce(&mut Wire) + Send + 'static) {
    if !allowed() {
        return;
    }
    let tcx = SchedClassifier::query_tcx("lo", TcAttachType::Ingress).is_ok();
    if point == Point::Tcx && !tcx {
        println!("skipped: this kernel has no TCX");
        return;
    }
    let run = move || {
        // SAFETY: only this thread enters the namespace, and it runs only this test.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
            .expect("a network namespace");
        test(&mut Wire::new(point));
    };
    std::thread::spawn(run).join().expect("the test holds");
}

/// Returns the partial checksum of a packet behind a link-layer header of this length.
fn unfinished(packet: &Packet, header: usize) -> Left {
    let offset = if packet.tcp { 16 } else { 6 };
    let short = |n: usize| u16::try_from(n).expect("short");
    let start = header + packet.check_at() - offset;
    Left { check: Some((short(start), short(offset))), cut: None }
}

/// Builds a frame with a partial checksum; returns it with the length of its link-layer header.
fn with_partial(packet: &Packet, flow: &Flow) -> (Vec<u8>, usize) {
    let mut frame = packet.frame(&flow.from);
    let header = frame.len() - packet.bytes().len();
    let at = header + packet.check_at();
    frame[at..at + 2].copy_from_slice(&packet.partial());
    (frame, header)
}

fn each(mut test: impl FnMut(&str, &Flow, &Packet)) {
    for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
        for (nat, old, new) in translations(v6) {
            for (ingress, from) in links_in() {
                for (egress, to) in links_out() {
                    let name = format!("IPv6 {v6} TCP {tcp} from {ingress} to {egress} NAT {nat}");
                    let flow = flow(&from, &to, (old, new), tcp);
                    let packet = Packet::new(old, tcp, name.clone().into_bytes());
                    test(&name, &flow, &packet);
                }
            }
        }
    }
}

fn table(wire: &mut Wire, partial: bool) {
    let mut frames: Vec<(Vec<u8>, Expected)> = Vec::new();
    each(|name, flow, packet| {
        let (frame, left) = if partial {
            let (frame, header) = with_partial(packet, flow);
            (frame, unfinished(packet, header))
        } else {
            (packet.frame(&flow.from), Left::default())
        };
        wire.send(flow, &frame, left);
        let received = wire.receive();
        let (out, left) =
            received.unwrap_or_else(|| panic!("{name}: no frame received: {}", wire.exits()));
        assert_eq!(left.check.is_some(), partial, "{name}");
        if partial && flow.to.session.is_some() {
            let protocol = wire.egress.protocol();
            let wanted = if flow.to.tags.len() > 1 { 0x8100 } else { 0x8864 };
            assert_eq!(protocol, Some(wanted), "{name}");
        }
        assert_eq!(out, forwarded(packet, flow), "{name}");
        frames.push((out, expected(packet, flow, name)));
    });
    check(&frames);
}

#[test]
fn tcx_forwards_complete_checksums() {
    on_wire(Point::Tcx, |wire| table(wire, false));
}

#[test]
fn tcx_forwards_partial_checksums() {
    on_wire(Point::Tcx, |wire| table(wire, true));
}

#[test]
fn native_xdp_forwards_every_combination() {
    on_wire(Point::Native, |wire| table(wire, false));
}

#[test]
fn generic_xdp_forwards_every_combination() {
    on_wire(Point::Generic, |wire| table(wire, false));
}

#[test]
fn clsact_forwards_partial_checksums() {
    on_wire(Point::Clsact, |wire| table(wire, true));
}

#[test]
fn tcx_forwards_gso_packets() {
    const TCP4: u8 = 1;
    const TCP6: u8 = 4;
    const UDP: u8 = 5;
    on_wire(Point::Tcx, |wire| {
        let mut frames = Vec::new();
        each(|name, flow, packet| {
            if flow.from.session.is_some() {
                // The kernel neither merges nor segments packets with a PPPoE header.
                return;
            }
            let kind = match (flow.tcp, flow.old.is_v6()) {
                (false, _) => UDP,
                (true, false) => TCP4,
                (true, true) => TCP6,
            };
            let packet = Packet { payload: vec![0x5a; 9_000], ..packet.clone() };
            let (frame, header) = with_partial(&packet, flow);
            let left = Left { cut: Some((kind, 1_400)), ..unfinished(&packet, header) };
            let before = wire.count(Out::Gso);
            wire.send(flow, &frame, left);
            if flow.to.session.is_some() {
                assert_eq!(wire.count(Out::Gso), before + 1, "{name}");
                return;
            }
            let received = wire.receive();
            let (out, left) =
                received.unwrap_or_else(|| panic!("{name}: no frame received: {}", wire.exits()));
            assert_eq!(left.cut, Some((kind, 1_400)), "{name}");
            assert_eq!(out, forwarded(&packet, flow), "{name}");
            frames.push((out, expected(&packet, flow, name)));
        });
        check(&frames);
    });
}

/// Like some drivers, a packet socket keeps only the Ethernet header of a long frame linear.
#[test]
fn tcx_forwards_packets_with_nonlinear_headers() {
    on_wire(Point::Tcx, |wire| {
        let mut frames = Vec::new();
        each(|name, flow, packet| {
            let flow = Flow { mtu: 9000, ..flow.clone() };
            let packet = Packet { payload: vec![0x5a; 6_000], ..packet.clone() };
            wire.send(&flow, &packet.frame(&flow.from), Left::default());
            let (out, _) = wire.receive().unwrap_or_else(|| panic!("{name}: {}", wire.exits()));
            assert_eq!(out, forwarded(&packet, &flow), "{name}");
            frames.push((out, expected(&packet, &flow, name)));
        });
        check(&frames);
    });
}
