# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Package scripts restart only enabled services; removal deletes the daemon's files.

# asked FOLDER PACKAGE SCRIPT STATE SERVICE…: runs a package script and prints the commands to the
# services. STATE is `enabled` (and running), `disabled` or absent. UPGRADE simulates an upgrade,
# IMAGE the build of an image.
asked() {
    local folder=$1 package=$2 script=$3 state=$4 service
    shift 4
    in_folder "$folder" lab-script PACKAGE="$package" SCRIPT="$script" >"$WORK/script"
    [ -s "$WORK/script" ] || return 0
    make_root
    mkdir -p "$ROOT/etc/init.d"
    : >"$ROOT/tmp/asked"
    for service; do
        [ "$state" != absent ] || break
        cat >"$ROOT/etc/init.d/$service" <<END
#!/bin/sh
case \$1 in
enabled | running) [ $state = enabled ] ;;
*) echo "$service \$1" >>/tmp/asked ;;
esac
END
        chmod +x "$ROOT/etc/init.d/$service"
    done
    cp "$WORK/script" "$ROOT/tmp/"
    in_root /bin/env ${UPGRADE:+PKG_UPGRADE=1} ${IMAGE:+IPKG_INSTROOT=/tmp/image} \
        /bin/sh /tmp/script 2>/dev/null ||
        fail "$script of $package ends with $? where the services are $state"
    cat "$ROOT/tmp/asked"
}

# The exporter reads its list of collectors at start.
test_the_exporter_is_restarted_if_it_is_enabled() {
    local script one=prometheus-node-exporter-lua
    for script in postinst postrm; do
        set -- feeds/fastpath-metrics fastpath-metrics "$script"
        same <(asked "$@" enabled $one) <(echo "$one restart") "$script, enabled"
        same <(asked "$@" disabled $one) /dev/null "$script, disabled"
        same <(asked "$@" absent $one) /dev/null "$script, absent"
    done
}

test_an_upgrade_restarts_the_daemon_if_it_is_enabled() {
    local both=(fastpath-rules fastpathd)
    set -- feeds/fastpathd fastpathd postinst
    same <(UPGRADE=1 asked "$@" enabled "${both[@]}") \
        <(printf '%s restart\n' "${both[@]}") "an upgrade, enabled"
    same <(UPGRADE=1 asked "$@" disabled "${both[@]}") /dev/null "an upgrade, disabled"
    same <(asked "$@" enabled "${both[@]}") /dev/null "the first installation"
}

# rpcd reads objects and rights at start and on reload.
test_rpcd_reloads_after_installation_and_removal() {
    set -- feeds/fastpathd fastpathd
    same <(asked "$@" postinst enabled rpcd) <(echo "rpcd reload") "the installation"
    same <(asked "$@" postrm enabled rpcd) <(echo "rpcd reload") "the removal"
    same <(asked "$@" postrm absent rpcd) /dev/null "the removal without rpcd"
    set -- luci-app-fastpath luci-app-fastpath
    same <(asked "$@" postrm enabled rpcd) <(echo "rpcd reload") "the page's removal"
}

# The daemon looks up Suricata's user at start.
test_suricata_restarts_a_running_daemon() {
    set -- suricata-pkg suricata postinst
    same <(asked "$@" enabled fastpathd) <(echo "fastpathd restart") "running"
    same <(asked "$@" disabled fastpathd) /dev/null "not running"
    same <(asked "$@" absent fastpathd) /dev/null "absent"
}

test_an_image_is_made_without_the_services_of_its_builder() {
    local folder package script
    for folder in $FOLDERS; do
        for package in $(packages_of "$folder"); do
            for script in postinst prerm postrm; do
                same <(IMAGE=1 asked "$folder" "$package" "$script" enabled rpcd fastpathd \
                    fastpath-rules prometheus-node-exporter-lua) /dev/null "$script of $package"
            done
        done
    done
}

# The daemon searches for the eBPF programs at start.
test_the_programs_restart_the_daemon_if_it_is_enabled() {
    set -- feeds/fastpathd fastpathd-ebpf postinst
    same <(asked "$@" enabled fastpathd) <(echo "fastpathd restart") "enabled"
    same <(asked "$@" disabled fastpathd) /dev/null "disabled"
}

test_a_removal_deletes_what_the_daemon_left() {
    local program hook=usr/libexec/platform/packet-steering.sh
    make_root
    mkdir -p "$ROOT/${hook%/*}"
    for program in usr/sbin/nft usr/sbin/fastpathd usr/libexec/fastpath-rpcd; do
        # shellcheck disable=SC2016 # expanded by the program
        echo '#!/bin/sh
            echo "${0##*/} $*" >>/tmp/asked' >"$ROOT/$program"
        chmod +x "$ROOT/$program"
    done
    ln -s "/usr/libexec/fastpath/${hook##*/}" "$ROOT/$hook"
    in_folder feeds/fastpathd lab-script PACKAGE=fastpathd SCRIPT=prerm >"$ROOT/tmp/script"
    in_root PKG_UPGRADE=1 /bin/sh /tmp/script
    [ ! -e "$ROOT/tmp/asked" ] || fail "an upgrade removes something: $(cat "$ROOT/tmp/asked")"
    [ -L "$ROOT/$hook" ] || fail "an upgrade removes the hook"
    in_root /bin/sh /tmp/script
    same "$ROOT/tmp/asked" <(printf '%s\n' "fastpath-rpcd leave" "fastpath-rpcd free all" \
        "fastpath-rpcd login open" \
        "nft delete table inet fastpath" "fastpathd --remove-queues") "the removal"
    [ ! -L "$ROOT/$hook" ] || fail "the hook is left"
    echo own >"$ROOT/$hook"
    in_root /bin/sh /tmp/script
    [ "$(cat "$ROOT/$hook")" = own ] || fail "the hook of the target is gone"
}

test_a_removal_of_the_programs_unloads_them() {
    make_root
    mkdir -p "$ROOT/usr/libexec"
    # shellcheck disable=SC2016 # the program expands it
    printf '#!/bin/sh\necho "$*" >>/tmp/asked\n' >"$ROOT/usr/libexec/fastpath-bpf"
    chmod +x "$ROOT/usr/libexec/fastpath-bpf"
    in_folder feeds/fastpathd lab-script PACKAGE=fastpathd-ebpf SCRIPT=prerm >"$ROOT/tmp/script"
    in_root PKG_UPGRADE=1 /bin/sh /tmp/script
    [ ! -e "$ROOT/tmp/asked" ] || fail "an upgrade unloads them"
    in_root /bin/sh /tmp/script
    same "$ROOT/tmp/asked" <(echo unload) "the removal"
}
