# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Inspection of one device, always or never, whatever the policies.
# @inspected

# device HOST ACTION: prints the section of a device.
device() {
    printf '%s\n' '' 'config device' "	option mac '$("$1" cat /sys/class/net/eth0/address)'" \
        "	option inspect '$2'"
}

# @core
test_a_device_is_always_inspected_and_others_are_offloaded() {
    local port
    protect_inline "$(device h10 always)"
    port=$(fresh_port)
    same "bytes of file and page, connections" "$(after_file h10 "$port" "$ISP_4" 3)" \
        "2097152 1 0 0 "
    download h10 $((port + 1)) "$ISP_6" 4M
    download h11 $((port + 2)) "$ISP_4" 4M
    soon 10 on_path inspect/always-inspected --proto tcp --text $((port + 1))
    soon 30 on_path flowtable --proto tcp --text $((port + 2))
    never 3 offloaded $((port + 1))
    on_path inspect/always-inspected --proto tcp --text $((port + 1))
}

# @long
test_an_offloaded_flow_is_inspected_again_when_its_device_always_is() {
    local port
    protect_inline
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 4M
    soon 30 on_path flowtable --proto tcp --text "$port"
    gw fastpathctl device "$(h10 cat /sys/class/net/eth0/address)" inspect always
    soon 15 on_path inspect/always-inspected --proto tcp --text "$port"
    never 3 offloaded "$port"
    ! ended "tcp$port" || fail "the download has ended: $(peers cat "/tmp/e2e/tcp$port.log")"
}

test_a_device_is_never_inspected_and_others_are() {
    protect_inline "	option default 'always'
$(device h11 never)"
    same "bytes to the device" "$(bad_page h11 "$ISP_4" | cut -d ' ' -f 2)" 39
    same "bytes to the device over IPv6" "$(bad_page h11 "$ISP_6" | cut -d ' ' -f 2)" 39
    dropped "$ISP_4"
}
