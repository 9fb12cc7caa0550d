# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the folders that an OpenWrt tree with this .config compiles, one per line. SDK=1 omits
# tools and toolchain, which an SDK contains.
include .config
include tmp/.packagedeps
# Approximation: ignores the conditions in tools/Makefile and toolchain/Makefile.
tools:=$(shell [ -n "$(SDK)" ] || sed -n 's/^tools-y += \([a-z0-9.-]*\)$$/\1/p' tools/Makefile)
toolchain:=kernel-headers binutils gcc/initial $(patsubst "%",%,$(CONFIG_LIBC)) fortify-headers \
	gcc/final

all:
	@printf '%s\n' $(sort $(if $(SDK),,$(addprefix tools/,$(tools)) \
		$(addprefix toolchain/,$(toolchain)) target/linux) \
		$(addprefix package/,$(package-y) $(package-m)))
