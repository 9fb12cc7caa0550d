# SPDX-License-Identifier: GPL-2.0-or-later
PKG_BUILD_DIR?=$(BUILD_DIR)/$(PKG_NAME)

define lab_newline


endef

# BuildPackage NAME: prepare, the package's own recipe, then what a package manager would check.
define BuildPackage
$(eval USERID:=)
$(eval $(call Package/$(1)))
$(eval lab_userid_$(1):=$(USERID))
lab-install: lab-install-$(1)
.PHONY: lab-install-$(1)
lab-install-$(1):
	$$(call Build/Prepare)
	$$(foreach hook,$$(Hooks/Prepare/Post),$$(call $$(hook))$$(lab_newline))
	$$(call Package/$(1)/install,$$(DESTDIR))
	$$(foreach file,$$(call Package/$(1)/conffiles),test -e "$$(DESTDIR)$$(file)"$$(lab_newline))
	$$(if $$(lab_userid_$(1)),mkdir -p "$$(DESTDIR)/usr/lib/lab/userid")
	$$(if $$(lab_userid_$(1)),echo "$$(lab_userid_$(1))" >"$$(DESTDIR)/usr/lib/lab/userid/$(1)")
endef
