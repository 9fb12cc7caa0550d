// SPDX-License-Identifier: GPL-2.0-or-later
//! Links a release so that it fits a router's flash.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=../../release.ld");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    // Debug builds unwind, so they need the tables that a release leaves out.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // 8 bytes or less per relocation instead of 24. Linkers without support warn and continue.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    // mold does not support such scripts.
    if !flags.contains("fuse-ld=mold") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/../../release.ld");
    }
}
