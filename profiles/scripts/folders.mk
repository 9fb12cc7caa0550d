# SPDX-License-Identifier: GPL-2.0-or-later
# In an OpenWrt tree with a .config: the folders that a build compiles, one a line. With SDK=1 in an
# SDK, which has tools and toolchain.
include .config
include tmp/.packagedeps
# As tools/Makefile and toolchain/Makefile name them, without their rules; folders
# that they add by conditions are left out, so there may be a few more.
tools:=$(shell [ -n "$(SDK)" ] || sed -n 's/^tools-y += \([a-z0-9.-]*\)$$/\1/p' tools/Makefile)
toolchain:=kernel-headers binutils gcc/initial $(patsubst "%",%,$(CONFIG_LIBC)) fortify-headers \
	gcc/final

all:
	@printf '%s\n' $(sort $(if $(SDK),,$(addprefix tools/,$(tools)) \
		$(addprefix toolchain/,$(toolchain)) target/linux) \
		$(addprefix package/,$(package-y) $(package-m)))
