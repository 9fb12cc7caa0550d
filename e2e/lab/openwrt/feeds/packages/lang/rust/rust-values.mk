# SPDX-License-Identifier: GPL-2.0-or-later
# Empty: nothing is compiled here.
RUST_ARCH_DEPENDS:=
RUSTC_TARGET_ARCH:=
CARGO_PKG_CONFIG_VARS:=
