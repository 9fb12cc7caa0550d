# SPDX-License-Identifier: GPL-2.0-or-later
# Cargo has run already: its programs are in PKG_INSTALL_DIR/bin.
include $(TOPDIR)/feeds/packages/lang/rust/rust-values.mk
define RustBinPackage
endef
