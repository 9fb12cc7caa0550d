# SPDX-License-Identifier: GPL-2.0-or-later
# Replaces OpenWrt's build system for install recipes, so that the lab and the packages install the
# same files:
# make -C PACKAGE TOPDIR=…/e2e/lab/openwrt DESTDIR=ROOT PKG_INSTALL_DIR=DIR BUILD_DIR=DIR
# lab-install
# PKG_INSTALL_DIR/bin has the built programs. Users are written to ROOT/usr/lib/lab/userid/PACKAGE,
# conffiles to conffiles/PACKAGE. Other goals: lab-fields, lab-script, lab-configure (package.mk).
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
