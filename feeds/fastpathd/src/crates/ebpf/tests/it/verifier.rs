// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks instruction counts, alignment, and the Rust mirror of the layout.

use std::process::Command;

use ebpf::layout::{
    Control, Encap, Entry, Entry4, Entry6, Exits, HEADER_MAX, Key4, Key6, LAYOUT, OUT_NUMBER,
};
use ebpf::programs::{Dsa, LoadOptions, ProgramRole, Programs};

use crate::kernel::{allowed, object};

/// Far below the kernel's limit of a million, because older kernels count more instructions.
const MAX_VERIFIED: u32 = 100_000;

#[test]
fn programs_stay_far_below_the_verifier_limit() {
    if !allowed() {
        return;
    }
    for dsa in Dsa::ALL {
        let settings = LoadOptions { flows: 16, dsa };
        let mut programs = Programs::load(object(), None, settings).expect("loads");
        for role in ProgramRole::ALL {
            let info = match role {
                ProgramRole::Tc | ProgramRole::Beat => programs.tc(role).expect("there").info(),
                ProgramRole::Xdp | ProgramRole::Pass => programs.xdp(role).expect("there").info(),
            };
            let info = info.expect("loaded");
            let verified = info.verified_instruction_count().expect("a kernel from 5.16 on");
            let bytes = info.size_translated().expect("root may read it");
            println!("{:5} {:13} {verified:6} verified {bytes:6} bytes", dsa.name(), role.name());
            assert!(verified < MAX_VERIFIED, "{} for {}", role.name(), dsa.name());
        }
    }
}

#[test]
fn programs_load_with_strict_alignment() {
    if !allowed() {
        return;
    }
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = |end| folder.join(format!("strict.{}{end}", std::process::id()));
    std::fs::write(file(".o"), object()).expect("written");
    let mut compile = Command::new("cc");
    compile.arg("-o").arg(file("")).arg(here.join("tests/it/strict.c")).arg("-lbpf");
    assert!(compile.status().expect("a C compiler").success());
    let output = Command::new(file("")).arg(file(".o")).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for end in ["", ".o"] {
        std::fs::remove_file(file(end)).expect("removed");
    }
}

macro_rules! offsets {
    ($type:ident $c:literal: $($field:ident)*) => {
        [
            format!("sizeof(struct {}) {}", $c, size_of::<$type>()),
            $(format!(
                "offsetof(struct {}, {}) {}",
                $c, stringify!($field), std::mem::offset_of!($type, $field)
            ),)*
        ].to_vec()
    };
}

#[test]
fn rust_and_c_layouts_agree() {
    let mut expected = [
        offsets!(Encap "encap": outer inner session),
        offsets!(Key4 "key4": src dst sport dport ifindex encap proto port),
        offsets!(Key6 "key6": src dst sport dport ifindex encap proto port),
        offsets!(Entry "entry": used packets bytes waiting ended flags header_len ifindex mtu
            l4_delta
            sport dport outer_tci outer_proto inner_tci inner_proto l3_delta address_delta
            port_delta
            back back_ifindex back_port zero own_end own_begin header
            seq_high ack),
        offsets!(Entry4 "entry4": e src dst key),
        offsets!(Entry6 "entry6": e src dst key),
        offsets!(Exits "exits": out),
        offsets!(Control "control": alive_until now layout secret),
    ]
    .concat();
    expected.push(format!("OUT_NUMBER {OUT_NUMBER}"));
    expected.push(format!("HEADER_MAX {HEADER_MAX}"));
    expected.push(format!("LAYOUT {LAYOUT}"));
    let prints = expected.iter().map(|line| {
        let (expression, _) = line.rsplit_once(' ').expect("an expression and its value");
        format!("printf(\"%s %zu\\n\", \"{expression}\", (size_t)({expression}));\n")
    });
    let source = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"layout.h\"\nint main(void) {{\n{}}}\n",
        prints.collect::<String>()
    );
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = |end| folder.join(format!("layout.{}{end}", std::process::id()));
    std::fs::write(file(".c"), source).expect("written");
    let headers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf");
    let mut compile = Command::new("cc");
    compile.args(["-I", headers, "-o"]).arg(file("")).arg(file(".c"));
    assert!(compile.status().expect("a C compiler").success());
    let output = Command::new(file("")).output().expect("runs");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    for end in ["", ".c"] {
        std::fs::remove_file(file(end)).expect("removed");
    }
}
