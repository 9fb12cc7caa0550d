// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel's verifier had to do, and the mirror of the layout.

use std::process::Command;

use ebpf::layout::{
    Control, Entry, Entry4, Entry6, Exits, HEADER_MAX, Key4, Key6, LAYOUT, OUT_NUMBER, Way,
};
use ebpf::programs::{Dsa, LoadOptions, ProgramRole, Programs};

use crate::kernel::{allowed, object};

/// Kernels verify a million instructions at most, and older ones need more of them.
const LIMIT: u32 = 100_000;

#[test]
fn programs_are_far_from_the_limit() {
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
            assert!(verified < LIMIT, "{} for {}", role.name(), dsa.name());
        }
    }
}

/// Without this, programs do not load on MIPS and older ARM.
#[test]
fn words_lie_where_words_may() {
    if !allowed() {
        return;
    }
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = |end| folder.join(format!("strict.{}{end}", std::process::id()));
    std::fs::write(file(".o"), object()).expect("written");
    let mut compile = Command::new("cc");
    compile.arg("-o").arg(file("")).arg(here.join("tests/programs/strict.c")).arg("-lbpf");
    assert!(compile.status().expect("a C compiler").success());
    let told = Command::new(file("")).arg(file(".o")).output().expect("runs");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
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

/// The same questions to a C compiler.
#[test]
fn layouts_agree() {
    let mut ours = [
        offsets!(Way "way": outer inner session),
        offsets!(Key4 "key4": src dst sport dport ifindex way proto port),
        offsets!(Key6 "key6": src dst sport dport ifindex way proto port),
        offsets!(Entry "entry": used packets bytes state ifindex mtu flags header_len sport dport
            outer_tci outer_proto inner_tci inner_proto l3_delta address_delta port_delta back
            back_ifindex back_port zero l4_delta rule zero_begin header
            zero_end),
        offsets!(Entry4 "entry4": e src dst),
        offsets!(Entry6 "entry6": e src dst),
        offsets!(Exits "exits": seen out),
        offsets!(Control "control": alive_until now layout),
    ]
    .concat();
    ours.push(format!("OUT_NUMBER {OUT_NUMBER}"));
    ours.push(format!("HEADER_MAX {HEADER_MAX}"));
    ours.push(format!("LAYOUT {LAYOUT}"));
    let prints = ours.iter().map(|line| {
        let (question, _) = line.rsplit_once(' ').expect("two words");
        format!("printf(\"%s %zu\\n\", \"{question}\", (size_t)({question}));\n")
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
    let told = Command::new(file("")).output().expect("runs");
    let theirs = String::from_utf8(told.stdout).expect("text");
    assert_eq!(theirs.lines().collect::<Vec<_>>(), ours);
    for end in ["", ".c"] {
        std::fs::remove_file(file(end)).expect("removed");
    }
}
