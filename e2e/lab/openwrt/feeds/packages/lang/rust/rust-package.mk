# SPDX-License-Identifier: GPL-2.0-or-later
# The lab has already run cargo and put the programs into PKG_INSTALL_DIR/bin.
include $(TOPDIR)/feeds/packages/lang/rust/rust-values.mk
define RustBinPackage
endef
