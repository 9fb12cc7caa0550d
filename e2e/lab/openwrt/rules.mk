# SPDX-License-Identifier: GPL-2.0-or-later
# Stands for OpenWrt's build system, as far as a package's install recipe can see it, so that
# the lab installs the same files as the packages:
#
#   make -C PACKAGE TOPDIR=…/e2e/lab/openwrt DESTDIR=ROOT PKG_INSTALL_DIR=DIR BUILD_DIR=DIR lab-install
#
# PKG_INSTALL_DIR/bin holds the built programs. The user ids that a package asks for are left in
# ROOT/usr/lib/lab/userid/PACKAGE, its conffiles in conffiles/PACKAGE there. Other goals:
# lab-fields, lab-script, lab-configure (package.mk).
SHELL:=/bin/bash
INCLUDE_DIR:=$(TOPDIR)/include
CP:=cp -fpR
LN:=ln -sf
INSTALL_DIR:=install -d -m 0755
INSTALL_BIN:=install -m 0755
INSTALL_DATA:=install -m 0644
INSTALL_CONF:=install -m 0600

.DEFAULT_GOAL:=lab-install
.PHONY: lab-install
