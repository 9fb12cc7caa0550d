// SPDX-License-Identifier: GPL-2.0-or-later
//! How a release is linked: it must fit a router's flash.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=../../release.ld");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    // A debug build unwinds.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // 8 bytes and less per relocation instead of 24. Linkers that cannot do it say so and go on.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    // mold knows no such scripts.
    if !flags.contains("fuse-ld=mold") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/../../release.ld");
    }
}
