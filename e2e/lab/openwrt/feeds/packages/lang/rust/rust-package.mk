# SPDX-License-Identifier: GPL-2.0-or-later
# The lab has already built the programs in PKG_INSTALL_DIR/bin.
include $(TOPDIR)/feeds/packages/lang/rust/rust-values.mk
define RustBinPackage
endef
