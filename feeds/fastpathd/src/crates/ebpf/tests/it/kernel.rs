// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads the programs into the running kernel and runs them on single packets.
#![expect(unsafe_code, reason = "the bpf system call has no safe form")]

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use aya::Ebpf;
use aya::maps::xdp::DevMapHash;
use aya::maps::{Array, HashMap, MapData, PerCpuArray, ProgramArray};
use aya::programs::SchedClassifier;
use ebpf::exits::PortExits;
use ebpf::layout::{Control, EXIT_PORTS, Entry4, Entry6, Exits, OUT_NUMBER, Out};
use ebpf::programs::{CONTROL, Dsa, LoadOptions, ProgramRole, Programs, heartbeat, start};

use crate::flow::Pair;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    Tc,
    Xdp,
}

pub(crate) const HOOKS: [Hook; 2] = [Hook::Tc, Hook::Xdp];

/// Action of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Pass,
    Drop,
    Redirect,
}

/// Metadata of a packet in TC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Metadata {
    /// The device has verified the checksum.
    pub(crate) verified: bool,
    /// The device has computed the sum of the packet, which the kernel checks after the run.
    pub(crate) complete: bool,
    pub(crate) gso_size: u32,
    pub(crate) gso_segs: u32,
    /// Ingress device; 0 for the loopback device.
    pub(crate) ifindex: u32,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) action: Action,
    pub(crate) out: Out,
    /// The frame on the wire.
    pub(crate) frame: Vec<u8>,
}

/// Compiles the programs once and returns the object.
pub(crate) fn object() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| compile(None))
}

fn compile(source: Option<&Path>) -> Vec<u8> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = source.map_or("fastpath", |s| s.file_stem().and_then(|s| s.to_str()).expect("C"));
    let out =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}.o", std::process::id()));
    let mut build = Command::new(here.join("../../bpf/build"));
    if let Some(source) = source {
        build.arg("-s").arg(here.join(source));
    }
    assert!(build.arg(&out).status().expect("a shell").success(), "{name} does not compile");
    let object = std::fs::read(&out).expect("an object");
    std::fs::remove_file(out).expect("removed");
    object
}

fn harness_object() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| compile(Some(Path::new("tests/it/harness.c"))))
}

/// Reports whether this process may load programs.
pub(crate) fn allowed() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: needs root");
    }
    root
}

pub(crate) struct Kernel {
    programs: Programs,
    harness: Ebpf,
    pub(crate) flows4: HashMap<MapData, u64, Entry4>,
    pub(crate) flows6: HashMap<MapData, u64, Entry6>,
    pub(crate) control: Array<MapData, Control>,
    exits: PerCpuArray<MapData, Exits>,
    /// Counters after the last packet, cached because reading them takes longer than a run.
    counted: Exits,
    hides_tags: bool,
}

impl Kernel {
    pub(crate) fn new(dsa: Dsa) -> Self {
        let settings = LoadOptions { flows: 1024, dsa };
        let mut programs = Programs::load(object(), None, settings).expect("loads");
        let mut map = |name| programs.take_map(name).expect("is there");
        let flows4 = map("flows4").try_into().expect("a map of IPv4");
        let flows6 = map("flows6").try_into().expect("a map of IPv6");
        let control = map(CONTROL).try_into().expect("an array");
        let exits = map("exits").try_into().expect("an array");
        let mut devices: DevMapHash<MapData> = map("devices").try_into().expect("a devmap");
        // The loopback device always exists.
        devices.insert(1, 1, None, 0).expect("a device");
        let mut harness = Ebpf::load(harness_object()).expect("loads");
        let first: &mut SchedClassifier =
            harness.program_mut("harness").expect("there").try_into().expect("of TC");
        first.load().expect("loads");
        let mut subject: ProgramArray<MapData> =
            harness.take_map("subject").expect("there").try_into().expect("of programs");
        let tc = programs.tc(ProgramRole::Tc).expect("there").fd().expect("loaded");
        subject.set(0, tc, 0).expect("set");
        // Keep the descriptor open: the kernel clears a program array when its last user-space
        // descriptor is closed.
        std::mem::forget(subject);
        let hides_tags = dsa == Dsa::None;
        let counted = Exits::default();
        let mut kernel =
            Self { programs, harness, flows4, flows6, control, exits, counted, hides_tags };
        kernel.heartbeat(1_000_000);
        kernel
    }

    pub(crate) fn heartbeat(&mut self, jiffies: u32) {
        self.set_secret(jiffies, 0);
    }

    /// Beats with the secret of the entries; 0 keeps it.
    pub(crate) fn set_secret(&mut self, jiffies: u32, secret: u64) {
        let beat = self.programs.fd(ProgramRole::Beat).expect("there");
        heartbeat(beat, jiffies, secret).expect("beats");
    }

    /// Starts waiting entries; returns false if one is missing or has ended.
    pub(crate) fn start(&mut self, one: &Pair, other: &Pair) -> bool {
        let keys = match (one, other) {
            (Pair::V4(one, _), Pair::V4(other, _)) => [bytes(one), bytes(other)].concat(),
            (Pair::V6(one, _), Pair::V6(other, _)) => [bytes(one), bytes(other)].concat(),
            (Pair::V4(..) | Pair::V6(..), _) => panic!("one family"),
        };
        start(self.programs.fd(ProgramRole::Beat).expect("there"), &keys).expect("runs")
    }

    pub(crate) fn stop_heartbeat(&mut self) {
        let control = self.control.get(&0, 0).expect("there");
        self.control.set(0, Control { alive_until: 0, ..control }, 0).expect("set");
    }

    pub(crate) fn secret(&self) -> u64 {
        self.control.get(&0, 0).expect("there").secret
    }

    pub(crate) fn put(&mut self, pair: &Pair) {
        self.put_at(pair, pair);
    }

    /// Writes the entry of `pair` where the programs look for the flow of `at`.
    pub(crate) fn put_at(&mut self, at: &Pair, pair: &Pair) {
        let secret = self.secret();
        match (at, pair) {
            (Pair::V4(key, _), Pair::V4(_, to)) => self.flows4.insert(key.hash(secret), to, 0),
            (Pair::V6(key, _), Pair::V6(_, to)) => self.flows6.insert(key.hash(secret), to, 0),
            (Pair::V4(..) | Pair::V6(..), _) => panic!("one family"),
        }
        .expect("put");
    }

    pub(crate) fn get(&self, pair: &Pair) -> Pair {
        match pair {
            Pair::V4(key, _) => {
                Pair::V4(*key, self.flows4.get(&key.hash(self.secret()), 0).expect("there"))
            }
            Pair::V6(key, _) => {
                Pair::V6(*key, self.flows6.get(&key.hash(self.secret()), 0).expect("there"))
            }
        }
    }

    pub(crate) fn remove(&mut self, pair: &Pair) {
        match pair {
            Pair::V4(key, _) => self.flows4.remove(&key.hash(self.secret())).expect("removed"),
            Pair::V6(key, _) => self.flows6.remove(&key.hash(self.secret())).expect("removed"),
        }
    }

    pub(crate) fn exits(&self) -> Exits {
        self.port_exits().total()
    }

    pub(crate) fn port_exits(&self) -> PortExits {
        let mut exits = PortExits::default();
        for port in 0..EXIT_PORTS {
            let each = self.exits.get(&port, 0).expect("there");
            each.iter().for_each(|one| exits.add(port, one));
        }
        exits
    }

    pub(crate) fn run(&mut self, hook: Hook, frame: &[u8], metadata: Metadata) -> Ran {
        let (action, frame) = match hook {
            Hook::Xdp => {
                let (action, frame) = self.run_xdp(frame);
                (Some(action), frame)
            }
            Hook::Tc => (None, self.run_tc(frame, metadata)),
        };
        let out = self.verdict();
        Ran { action: action.unwrap_or_else(|| of_tc(out)), out, frame }
    }

    /// Returns the exit of the last packet. Only the counter of this exit has grown, by one.
    fn verdict(&mut self) -> Out {
        let after = self.exits();
        let before = std::mem::replace(&mut self.counted, after);
        assert_eq!(after.seen(), before.seen() + 1, "one packet is counted once");
        let grown: Vec<usize> =
            (0..OUT_NUMBER).filter(|n| after.out[*n] != before.out[*n]).collect();
        assert_eq!(grown.len(), 1, "one exit");
        assert_eq!(after.out[grown[0]], before.out[grown[0]] + 1);
        Out::ALL[grown[0]]
    }

    fn run_xdp(&mut self, frame: &[u8]) -> (Action, Vec<u8>) {
        let program = self.programs.xdp(ProgramRole::Xdp).expect("there").fd().expect("loaded");
        let ran = test_run(program.as_fd().as_raw_fd(), frame, &mut [], 1, 0).expect("runs");
        let action = match ran.0 {
            1 => Action::Drop,
            2 => Action::Pass,
            4 => Action::Redirect,
            other => panic!("XDP returns {other}"),
        };
        (action, ran.1)
    }

    fn run_tc(&mut self, frame: &[u8], metadata: Metadata) -> Vec<u8> {
        let first: &mut SchedClassifier =
            self.harness.program_mut("harness").expect("there").try_into().expect("of TC");
        let program = first.fd().expect("loaded").as_fd().as_raw_fd();
        let (frame, mut mark) = if self.hides_tags { hide_tag(frame) } else { (frame.into(), 0) };
        mark |= if metadata.verified { 0x40000 } else { 0 };
        let flags = if metadata.complete { 1 << 2 } else { 0 };
        let context = Context { mark, ..Context::of(metadata) };
        // Repeat the run on the same packet, so that the harness reports the metadata.
        let mut bytes = context.bytes();
        let (last, data) = test_run(program, &frame, &mut bytes, 2, flags)
            .unwrap_or_else(|e| panic!("{e}: {frame:02x?}"));
        assert_eq!(last, 0, "the harness returns TC_ACT_OK");
        let mut wire = data;
        if let Some((tci, proto)) = Context::tag(&bytes) {
            wire.splice(12..12, [proto.to_be_bytes(), tci.to_be_bytes()].concat());
        }
        wire
    }

    /// Runs the TC program without the harness and returns its value.
    pub(crate) fn tc_returns(&mut self, frame: &[u8]) -> u32 {
        let program = self.programs.tc(ProgramRole::Tc).expect("there").fd().expect("loaded");
        let fd = program.as_fd().as_raw_fd();
        test_run(fd, frame, &mut [], 1, 0).expect("runs").0
    }
}

/// Returns the TC action of an exit. The harness hides the return value of the program.
fn of_tc(out: Out) -> Action {
    if out == Out::Forwarded {
        Action::Redirect
    } else if matches!(out, Out::Dropped | Out::NoRoom) {
        Action::Drop
    } else {
        Action::Pass
    }
}

fn bytes<K: aya::Pod>(key: &K) -> &[u8] {
    // SAFETY: keys have no padding, so all bytes are initialized.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(key).cast(), size_of::<K>()) }
}

pub(crate) fn bytes_mut<K: aya::Pod>(key: &mut K) -> &mut [u8] {
    // SAFETY: as in `bytes`; each value of the bytes is a key.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(key).cast(), size_of::<K>()) }
}

/// Moves the outer tag from the frame to the mark, for the harness.
fn hide_tag(frame: &[u8]) -> (Vec<u8>, u32) {
    let tag = match frame {
        [_, _, _, _, _, _, _, _, _, _, _, _, 0x81, 0, a, b, _, _, ..] => (*a, *b, 0x10000),
        [_, _, _, _, _, _, _, _, _, _, _, _, 0x88, 0xa8, a, b, _, _, ..] => (*a, *b, 0x30000),
        _ => return (frame.to_vec(), 0),
    };
    let mut rest = frame.to_vec();
    rest.drain(12..16);
    (rest, u32::from(u16::from_be_bytes([tag.0, tag.1])) | tag.2)
}

/// Fields of `struct __sk_buff` that a test run can set.
#[derive(Clone, Copy, Default)]
struct Context {
    mark: u32,
    ifindex: u32,
    gso_segs: u32,
    gso_size: u32,
}

impl Context {
    fn of(metadata: Metadata) -> Self {
        let Metadata { ifindex, gso_segs, gso_size, .. } = metadata;
        Self { mark: 0, ifindex, gso_segs, gso_size }
    }

    fn bytes(self) -> [u8; 192] {
        let mut bytes = [0; 192];
        let mut put = |at: usize, n: u32| bytes[at..at + 4].copy_from_slice(&n.to_ne_bytes());
        put(8, self.mark);
        put(40, self.ifindex);
        put(164, self.gso_segs);
        put(176, self.gso_size);
        bytes
    }

    /// Reads TCI and protocol of the tag from the control buffer filled by `harness.c`.
    fn tag(bytes: &[u8]) -> Option<(u16, u16)> {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        let short = |at| u16::try_from(word(at)).expect("16 bits");
        (word(52) != 0).then(|| (short(56), short(60)))
    }
}

/// `union bpf_attr` of `BPF_PROG_TEST_RUN`.
#[repr(C)]
#[derive(Default)]
struct Test {
    program: i32,
    returned: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_size_in: u32,
    context_size_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    end: u32,
}

/// Runs a program; returns its return value and the resulting packet.
pub(crate) fn test_run(
    program: i32,
    frame: &[u8],
    context: &mut [u8],
    repeat: u32,
    flags: u32,
) -> std::io::Result<(u32, Vec<u8>)> {
    const BPF_PROG_TEST_RUN: i32 = 10;
    let mut data = vec![0xee; frame.len() + 256];
    let size = |bytes: &[u8]| u32::try_from(bytes.len()).expect("short");
    let mut test = Test {
        program,
        data_size_in: size(frame),
        data_size_out: size(&data),
        data_in: frame.as_ptr() as u64,
        data_out: data.as_mut_ptr() as u64,
        repeat,
        flags,
        ..Test::default()
    };
    if !context.is_empty() {
        test.context_size_in = size(context);
        test.context_size_out = size(context);
        test.context_in = context.as_ptr() as u64;
        test.context_out = context.as_mut_ptr() as u64;
    }
    // SAFETY: `test` has the kernel's layout, and its pointers refer to buffers of the given sizes.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_PROG_TEST_RUN, &raw mut test, size_of::<Test>())
    };
    if result < 0 {
        return Err(std::io::Error::last_os_error());
    }
    data.truncate(test.data_size_out as usize);
    Ok((test.returned, data))
}
