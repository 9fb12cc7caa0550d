# SPDX-License-Identifier: GPL-2.0-or-later
PKG_BUILD_DIR?=$(BUILD_DIR)/$(PKG_NAME)

define lab_newline


endef

lab_fields:=SECTION CATEGORY SUBMENU TITLE DEPENDS PKGARCH USERID MENU

# BuildPackage NAME: runs the install recipe and the checks of a package manager. lab-fields prints
# the package's fields as `NAME FIELD: value`.
define BuildPackage
$(foreach field,$(lab_fields),$(eval $(field):=))
$(eval $(call Package/$(1)))
$(foreach field,$(lab_fields),$(eval lab_$(field)_$(1):=$($(field))))
lab-install: lab-install-$(1)
lab-fields: lab-fields-$(1)
.PHONY: lab-install-$(1) lab-fields-$(1)
lab-install-$(1):
	$$(call Build/Prepare)
	$$(foreach hook,$$(Hooks/Prepare/Post),$$(call $$(hook))$$(lab_newline))
	$$(call Package/$(1)/install,$$(DESTDIR))
	$$(foreach file,$$(call Package/$(1)/conffiles),test -e "$$(DESTDIR)$$(file)"$$(lab_newline))
	$$(if $$(call Package/$(1)/conffiles),mkdir -p "$$(DESTDIR)/usr/lib/lab/conffiles")
	$$(foreach file,$$(call Package/$(1)/conffiles),\
		echo "$$(file)" >>"$$(DESTDIR)/usr/lib/lab/conffiles/$(1)"$$(lab_newline))
	$$(if $$(lab_USERID_$(1)),mkdir -p "$$(DESTDIR)/usr/lib/lab/userid")
	$$(if $$(lab_USERID_$(1)),echo "$$(lab_USERID_$(1))" >"$$(DESTDIR)/usr/lib/lab/userid/$(1)")
lab-fields-$(1):
	@: $$(foreach field,$$(lab_fields),$$(info $(1) $$(field): $$(strip $$(lab_$$(field)_$(1))))) \
		$$(foreach field,$$(filter PKG_% CARGO_PKG_%,$$(.VARIABLES)),$$(info $(1) $$(field): $$($$(field)))) \
		$$(info $(1) description: $$(strip $$(Package/$(1)/description))) \
		$$(info $(1) conffiles: $$(strip $$(Package/$(1)/conffiles)))
endef

# lab-script: prints the script SCRIPT (prerm, postinst, …) of PACKAGE.
lab-script:
	@: $(info $(Package/$(PACKAGE)/$(SCRIPT)))

lab-configure:
	$(call Build/Configure)
.PHONY: lab-script lab-configure
