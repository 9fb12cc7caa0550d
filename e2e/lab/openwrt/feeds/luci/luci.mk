# SPDX-License-Identifier: GPL-2.0-or-later
# Default recipe of LuCI packages: htdocs/ goes to /www, root/ to /.
include $(INCLUDE_DIR)/package.mk

define Build/Prepare
	mkdir -p $(PKG_BUILD_DIR)
	for folder in htdocs root; do \
	  [ ! -d ./$$folder ] || $(CP) ./$$folder $(PKG_BUILD_DIR)/; \
	done
endef

define Package/$(PKG_NAME)
  SECTION:=luci
  CATEGORY:=LuCI
  TITLE:=$(LUCI_TITLE)
  DEPENDS:=$(LUCI_DEPENDS)
  PKGARCH:=$(LUCI_PKGARCH)
endef

define Package/$(PKG_NAME)/install
	[ ! -d $(PKG_BUILD_DIR)/htdocs ] || { $(INSTALL_DIR) $(1)/www; $(CP) $(PKG_BUILD_DIR)/htdocs/. $(1)/www/; }
	[ ! -d $(PKG_BUILD_DIR)/root ] || $(CP) $(PKG_BUILD_DIR)/root/. $(1)/
endef

define Package/$(PKG_NAME)/description
  $(strip $(LUCI_DESCRIPTION))
endef

define Package/$(PKG_NAME)/postinst
#!/bin/sh
[ -n "$${IPKG_INSTROOT}" ] && exit 0
rm -rf /tmp/luci-indexcache.* /tmp/luci-modulecache
/etc/init.d/rpcd reload
exit 0
endef

$(eval $(call BuildPackage,$(PKG_NAME)))
