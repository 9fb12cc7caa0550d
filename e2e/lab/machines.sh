# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The two virtual machines: start, monitor, stop. Needs the other parts, see lab.
#
# $RUN holds the files of one running lab: NAME.pid, NAME.console, NAME.monitor (QEMU's, a
# unix socket), link.N (a cable each), ports (the host's ports as shell assignments).

CABLES="lan1 lan2 lan3 wan"

# machine_kind: qemu, uml, or router, where the peers alone are a machine.
machine_kind() {
    if [ -n "${LAB_ROUTER-}" ]; then echo router; else echo "${LAB_MACHINE:-qemu}"; fi
}

# Which accelerator: hardware virtualisation where a guest really reaches user space with it.
# An open /dev/kvm proves nothing, so a kernel is booted, once for each kernel and QEMU.
accelerator() {
    local verdict=$IMAGES/accel hash
    hash=$(printf '%s' "$(emulator_version) $(cat "$IMAGES/base.stamp")" |
        sha256sum | cut -d ' ' -f 1)
    if ! grep -qs "^$hash " "$verdict"; then
        if [ -w /dev/kvm ] && kvm_boots; then echo "$hash kvm"; else echo "$hash tcg"; fi \
            >"$verdict.new"
        mv "$verdict.new" "$verdict"
    fi
    cut -d ' ' -f 2 "$verdict"
}

kvm_boots() {
    timeout -k 1 8 "$(emulator)" -accel kvm -machine q35 -cpu host -m 256 -nodefaults \
        -no-user-config -display none -no-reboot -serial stdio -kernel "$IMAGES/vmlinux" \
        -initrd "$IMAGES/initrd.cpio" -append "console=ttyS0 quiet panic=-1 probe" \
        </dev/null 2>&1 | grep -q "PROBE OK"
}

# A kernel that patches its own code (a first netfilter hook, a module) while another emulated CPU
# translates it can leave a breakpoint behind there, "Oops: int3". So the machines boot with one
# CPU; the gateway takes the others into use when its network is set up.
#
# boot NAME: QEMU's arguments for its boot: the kernel, Debian, the machine's own layer and, where
# it has one, its own disk.
boot() {
    local line="console=ttyS0 panic=-1 quiet mitigations=off nokaslr maxcpus=1" disk=()
    if [ -f "$RUN/$1.disk" ]; then
        line+=" overlay"
        # Flushed data of the guest is in this machine's memory, which outlives a killed QEMU.
        disk=(-drive "if=none,id=own,file=$1.disk,format=raw,cache=unsafe"
            -device "virtio-blk-pci,drive=own")
    fi
    # Nobody writes these files, and user-mode machines on the same host use another kind of lock.
    local shared="format=raw,readonly=on,file.locking=off"
    BOOT=(-serial "file:$1.console" -kernel "$IMAGES/vmlinux" -initrd "$IMAGES/initrd.cpio"
        -append "$line"
        -drive "if=none,id=base,file=$IMAGES/base.erofs,$shared"
        -device "virtio-blk-pci,drive=base"
        -drive "if=none,id=layer,file=$IMAGES/$1.erofs,$shared"
        -device "virtio-blk-pci,drive=layer" "${disk[@]}")
}

# make_disk NAME: empty and sparse.
make_disk() {
    truncate -s 512M "$RUN/$1.disk"
    mke2fs -q -F -t ext4 -m 0 -J size=8 -E lazy_itable_init=1,lazy_journal_init=1 "$RUN/$1.disk"
}

# known_port NAME SSH|HTTP: of the gateway, once it has one.
known_port() {
    local port
    [ "$1" != gateway ] || port=$(sed -n "s/^GW_$2=//p" "$RUN/ports" 2>/dev/null) || true
    echo "${port:-0}"
}

# machine NAME ID MEMORY CPUS SERVER: QEMU in the background; SERVER says whether it opens the
# cables.
machine() {
    local name=$1 memory=$3 cpus=$4 server=$5 cable number=0 args cpu mac=52:54:00:0$2:00
    local BOOT CABLE
    case $ACCEL in
        kvm) cpu=(-accel kvm -cpu host) ;;
        # Nehalem: the fewer vector units, the less is emulated; without rdrand the random pool
        # starves pppd, without aes TLS takes three times as long: the emulator does that with
        # the host's own. The default translation cache grows without bound.
        *)
            cpu=(-accel "tcg,thread=multi,tb-size=256")
            cpu+=(-cpu "Nehalem,+rdrand,+aes,+pclmulqdq")
            ;;
    esac
    case ${LAB_ROOT:+root}${LAB_IMAGE:+image}:$name in
        rootimage:gateway) userland_boot "$name" ;;
        image:gateway) image_boot "$name" ;;
        *) boot "$name" ;;
    esac
    local user="user,id=mgmt,restrict=on"
    # The kernel picks the host's ports (0), the monitor reports them; a machine that is switched on
    # again keeps its ports.
    user+=",hostfwd=tcp:127.0.0.1:$(known_port "$name" SSH)-:22"
    user+=",hostfwd=tcp:127.0.0.1:$(known_port "$name" HTTP)-:80"
    # Sockets by relative names: the path of one has 108 bytes at the most.
    args=(-machine q35 "${cpu[@]}" -smp "$cpus" -m "$memory" -nodefaults -no-user-config
        -display none -no-reboot -monitor "unix:$name.monitor,server=on,wait=off"
        "${BOOT[@]}"
        -netdev "$user"
        -device "virtio-net-pci,netdev=mgmt,mac=$mac:00,romfile=")
    for cable in $CABLES; do
        number=$((number + 1))
        CABLE=(-netdev "stream,id=$cable,server=$server,addr.type=unix,addr.path=link.$number")
        [ -z "${LAB_ROUTER-}" ] || router_cable "$cable"
        args+=("${CABLE[@]}"
            -device "virtio-net-pci,id=nic-$cable,netdev=$cable,mac=$mac:0$number,romfile=")
    done
    # Without the parent-death signal a killed lab would leave its machines running.
    cd "$RUN" || return
    setpriv --pdeathsig KILL "$(emulator)" "${args[@]}" \
        </dev/null >"$name.qemu" 2>&1 &
    echo $! >"$RUN/$name.pid"
}

# wait_for_power [COMMAND…]: until power_on, or until COMMAND fails. The file gateway.waits shows
# cut_power that the lab has seen the end of the gateway, which power_on hides.
wait_for_power() {
    : >"$RUN/gateway.waits"
    while [ -e "$RUN/gateway.off" ] && "${@:-true}"; do sleep 0.1; done
    rm -f "$RUN/gateway.waits"
}

# on_again: whether the gateway was switched off by cut_power, or rebooted, rather than ended.
# The lab's init says the one, the kernel the other where it may say something.
on_again() {
    [ -e "$RUN/gateway.off" ] || console_says gateway REBOOTING ||
        grep -qs "reboot: Restarting system" "$RUN/gateway.console"
}

# keep: the parent of both machines; ends with them, and they with it.
keep() {
    local peers gateway
    echo $$ >"$RUN/keeper.pid"
    trap 'kill "$peers" "$gateway" 2>/dev/null; exit 1' TERM INT
    machine peers 2 384 1 on
    peers=$!
    poll 30 test -S "$RUN/link.4" || { kill "$peers"; exit 1; }
    if [ -z "${LAB_IMAGE-}" ] || [ -n "${LAB_ROOT-}" ]; then make_disk gateway; fi
    while :; do
        machine gateway 1 768 "${LAB_SMP:-1}" off
        gateway=$!
        # A lab needs both machines, unless the other one comes back.
        wait -n "$peers" "$gateway" || true
        if ! on_again || ! alive peers; then break; fi
        wait_for_power alive peers
    done
    poll 10 machines_gone || kill "$peers" "$gateway" 2>/dev/null
    wait
}

alive() { [ -f "$RUN/$1.pid" ] && kill -0 "$(cat "$RUN/$1.pid")" 2>/dev/null; }
machines_gone() { ! alive peers && ! alive gateway; }

# forwarded NAME GUEST-PORT: the host's port in front of it.
forwarded() {
    monitor "$1" "info usernet" |
        awk -v port="$2" '$1 == "TCP[HOST_FORWARD]" && $6 == port { print $4 }'
}

# remember_port NAME MACHINE GUEST-PORT: into the ports file, once the monitor answers.
remember_port() {
    local port=
    case $ACCEL in
        uml) port=$(fronted "$2" "${1#*_}") ;;
        *) [ ! -S "$RUN/$2.monitor" ] || port=$(forwarded "$2" "$3") ;;
    esac
    [ -n "$port" ] && echo "$1=$port" >>"$RUN/ports"
}

console_says() { grep -qs "^$2" "$RUN/$1.console"; }
booted() { console_says peers "READY" && console_says gateway "READY"; }
ended_or_refused() { ! kill -0 "$KEEPER" 2>/dev/null || console_says gateway "LAB FAILED"; }
booted_or_gone() {
    [ -z "${LAB_ROUTER-}" ] || router_words
    booted || ended_or_refused
}

# Emulation of several CPUs fails now and then, see above; the product is not to blame.
panicked() { grep -qs "Kernel panic" "$RUN"/*.console; }

# boot_limit: procd starts the services of OpenWrt's userland one after the other.
boot_limit() { if [ -n "${LAB_ROOT-}" ]; then echo 300; else echo 90; fi; }

# not_up WHAT: WHY has of each machine that is not up WHAT happened, and how its console ends.
not_up() {
    local machine
    WHY=''
    for machine in peers gateway; do
        ! console_says "$machine" READY || continue
        WHY+="${WHY:+$'\n'}the $machine $1; the last lines of its console:"
        WHY+=$'\n'$(console_end "$machine" | tail -n 8 | sed 's/^/    /')
    done
}

# comes_up: configures an image first. WHY has the reason if it does not come up.
comes_up() {
    local limit
    limit=${BOOT_LIMIT:-$(lab_port BOOT_LIMIT)}
    [ -z "${LAB_ROUTER-}" ] || router_set_up || return
    [ -n "${LAB_ROOT-}" ] || [ -z "${LAB_IMAGE-}" ] || image_set_up || return
    poll "$limit" booted_or_gone ||
        { not_up "did not come up within $limit s (BOOT_LIMIT)" && return 1; }
    booted && return
    not_up "had ended before it was up"
    if console_says gateway "LAB FAILED"; then
        WHY="this OpenWrt cannot be the lab's gateway:"$'\n'"$(image_complaints)"$'\n'
        WHY+="(./build.sh firmware x86-64 makes an image with all packages)"
    fi
    return 1
}

# gateways_ports KIND: a router's lead through the peers, once they are up.
gateways_ports() {
    [ "$1" = router ] ||
        { poll 30 remember_port GW_SSH gateway 22 && poll 20 remember_port GW_HTTP gateway 80; }
}

# devices KIND: the gateway's ports that traffic takes, by name.
devices() {
    if [ "$1" = router ]; then router_devices; else xargs -n 1 <<<"$CABLES" | sort | xargs; fi
}

# up: both machines, PPPoE established and the first packet through.
up() {
    local started=${EPOCHREALTIME/./} tie=() kind
    if ! machines_gone; then die "a lab is already running in $RUN"; fi
    kind=$(machine_kind)
    if [ "$kind" = uml ]; then ACCEL=uml; else ACCEL=$(accelerator); fi
    rm -rf "$RUN"
    mkdir -p "$RUN"
    case $kind:$ACCEL in
        uml:*) say "  … the gateway and its peers in one user-mode machine" ;;
        router:*) say "  … the peers, and $LAB_ROUTER as their gateway" ;;
        qemu:kvm) say "  … two machines, hardware virtualisation" ;;
        *) say "  … two machines, emulated (no guest boots with hardware virtualisation here)" ;;
    esac
    # Tied machines end with who started them, even when it is killed.
    [ "${TIED-}" != 1 ] || tie=(setpriv --pdeathsig TERM)
    setsid "${tie[@]}" "$LAB/lab" keep "$kind" "$ACCEL" </dev/null >"$RUN/keeper" 2>&1 &
    KEEPER=$!
    printf '%s\n' "MACHINE=$kind" "ACCEL=$ACCEL" "DEVICES=$(devices "$kind")" \
        "BOOT_LIMIT=$(boot_limit)" >"$RUN/ports"
    if ! poll 30 remember_port PEERS_SSH peers 22 || ! gateways_ports "$kind"; then
        abandon
        die "the machines do not say their ports; see $RUN: $(cat "$RUN"/*.qemu "$RUN/machine" \
            2>/dev/null | tail -n 5)"
    fi
    if ! comes_up; then
        if panicked && [ "${BOOTS:-1}" -lt 3 ]; then
            say "  … the emulated kernel panicked; trying again"
            abandon
            BOOTS=$((${BOOTS:-1} + 1))
            up
            return
        fi
        keep_logs boot
        abandon
        die "$WHY"$'\n'"(all that the machines said: $REPORTS/boot)"
    fi
    echo "BOOT_MS=$(((${EPOCHREALTIME/./} - started) / 1000))" >>"$RUN/ports"
}

stop_machines() {
    local name
    for name in peers gateway keeper; do
        if alive "$name"; then kill "$(cat "$RUN/$name.pid")" 2>/dev/null || true; fi
    done
}

# abandon: a lab that does not come up. Its files stay for those who want to know why; without its
# ports nobody takes it for a running one.
abandon() {
    stop_machines
    poll 5 machines_gone || true
    rm -f "$RUN/ports"
}

# down: the machines power themselves off; one that does not obey is stopped.
down() {
    if ! machines_gone && [ -f "$RUN/ports" ]; then
        [ "$(lab_port MACHINE)" = router ] || gw 'echo o >/proc/sysrq-trigger' >/dev/null 2>&1 &
        peers 'echo o >/proc/sysrq-trigger' >/dev/null 2>&1 &
        poll 5 machines_gone || true
    fi
    stop_machines
    poll 5 machines_gone || die "the machines of $RUN do not end"
    rm -f "$RUN/ports"
}

# answers NAME: whether to ask it anything. An image has no SSH key of the lab until it is set up.
answers() { [ -z "${LAB_IMAGE-}" ] || console_says "$1" READY; }

# keep_logs NAME: keeps the machines' logs under build/reports/NAME.
keep_logs() {
    local to=$REPORTS/$1 name
    rm -rf "$to"
    mkdir -p "$to"
    for name in gateway peers; do
        cp "$RUN/$name.console" "$RUN/$name.qemu" "$to/" 2>/dev/null || true
    done
    [ -f "$RUN/ports" ] || return 0
    ! answers gateway || keep_state "$to"
    ! answers peers || peers 'dmesg; tail -n 200 /var/log/*.log' >"$to/peers.log" 2>&1 || true
}

keep_state() {
    local to=$1
    gw 'dmesg; nft list ruleset; ip addr; conntrack -L 2>&1 | head -n 200' \
        >"$to/gateway.state" 2>&1 || true
    gw 'tail -n 500 /var/log/*.log' >"$to/gateway.log" 2>&1 || true
}
