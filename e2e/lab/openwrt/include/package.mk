# SPDX-License-Identifier: GPL-2.0-or-later
PKG_BUILD_DIR?=$(BUILD_DIR)/$(PKG_NAME)

define lab_newline


endef

# BuildPackage NAME: prepare, the package's own recipe, then what a package manager would check.
define BuildPackage
$(eval $(call Package/$(1)))
lab-install: lab-install-$(1)
.PHONY: lab-install-$(1)
lab-install-$(1):
	$$(call Build/Prepare)
	$$(foreach hook,$$(Hooks/Prepare/Post),$$(call $$(hook))$$(lab_newline))
	$$(call Package/$(1)/install,$$(DESTDIR))
	$$(foreach file,$$(call Package/$(1)/conffiles),test -f "$$(DESTDIR)$$(file)"$$(lab_newline))
	$$(if $$(USERID),mkdir -p "$$(DESTDIR)/usr/lib/lab/userid")
	$$(if $$(USERID),echo "$$(USERID)" >"$$(DESTDIR)/usr/lib/lab/userid/$(1)")
endef
