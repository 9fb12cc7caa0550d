# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts, monitors and stops the two virtual machines. Needs the other parts; see `lab`.
# $RUN has the files of a running lab: NAME.pid, NAME.console, NAME.monitor (socket of QEMU's
# monitor), link.N (a cable), ports (the host's ports as shell assignments).

CABLES="lan1 lan2 lan3 wan"

# machine_kind: prints qemu, uml, or router (only the peers are a machine).
machine_kind() {
    if [ -n "${LAB_ROUTER-}" ]; then echo router; else echo "${LAB_MACHINE:-qemu}"; fi
}

# Prints the accelerator. A usable /dev/kvm does not prove that guests work, so a guest must reach
# user space, once per kernel and QEMU.
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

# boot NAME: sets BOOT to QEMU's arguments: kernel, Debian, the machine's layer, and its disk if
# any.
# Machines boot with one CPU: if the kernel patches code (first netfilter hook, a module) while
# another emulated CPU translates it, a breakpoint may remain, "Oops: int3". The gateway enables
# more CPUs after its network setup. no_timer_check: on a busy host, the kernel's test of its timer
# is too short and panics.
boot() {
    local line="console=ttyS0 panic=-1 quiet mitigations=off nokaslr no_timer_check" disk=()
    line+=" maxcpus=1"
    if [ -f "$RUN/$1.disk" ]; then
        line+=" overlay"
        # Flushed data is in the host's page cache, which survives a killed QEMU.
        disk=(-drive "if=none,id=own,file=$1.disk,format=raw,cache=unsafe"
            -device "virtio-blk-pci,drive=own")
    fi
    # Read-only files need no lock; user-mode machines lock them differently.
    local shared="format=raw,readonly=on,file.locking=off"
    BOOT=(-serial "file:$1.console" -kernel "$IMAGES/vmlinux" -initrd "$IMAGES/initrd.cpio"
        -append "$line"
        -drive "if=none,id=base,file=$IMAGES/base.erofs,$shared"
        -device "virtio-blk-pci,drive=base"
        -drive "if=none,id=layer,file=$IMAGES/$1.erofs,$shared"
        -device "virtio-blk-pci,drive=layer" "${disk[@]}")
}

make_disk() {
    truncate -s 512M "$RUN/$1.disk"
    mke2fs -q -F -t ext4 -m 0 -J size=8 -E lazy_itable_init=1,lazy_journal_init=1 "$RUN/$1.disk"
}

# known_port NAME SSH|HTTP: prints the gateway's host port, or 0.
known_port() {
    local port
    [ "$1" != gateway ] || port=$(sed -n "s/^GW_$2=//p" "$RUN/ports" 2>/dev/null) || true
    echo "${port:-0}"
}

# machine NAME ID MEMORY CPUS SERVER: starts QEMU in the background. SERVER=on creates the sockets
# of the cables.
machine() {
    local name=$1 memory=$3 cpus=$4 server=$5 cable number=0 args cpu mac=52:54:00:0$2:00
    local BOOT CABLE
    case $ACCEL in
        kvm) cpu=(-accel kvm -cpu host) ;;
        # Nehalem has fewer vector units to emulate. Without rdrand pppd waits for random numbers;
        # without aes, which runs natively, TLS takes three times as long. The default translation
        # cache grows without bound.
        *)
            cpu=(-accel "tcg,thread=multi,tb-size=256")
            cpu+=(-cpu "Nehalem,+rdrand,+aes,+pclmulqdq")
            [ "$name" != gateway ] || [ -z "${COUNTED-}" ] ||
                cpu+=(-plugin "$IMAGES/counts.so,to=$RUN/counts")
            ;;
    esac
    case ${LAB_ROOT:+root}${LAB_IMAGE:+image}:$name in
        rootimage:gateway) userland_boot "$name" ;;
        image:gateway) image_boot "$name" ;;
        *) boot "$name" ;;
    esac
    local user="user,id=mgmt,restrict=on"
    # With port 0 the kernel chooses the host's port, which QEMU's monitor reports. A restarted
    # machine keeps its ports.
    user+=",hostfwd=tcp:127.0.0.1:$(known_port "$name" SSH)-:22"
    user+=",hostfwd=tcp:127.0.0.1:$(known_port "$name" HTTP)-:80"
    # Relative names, because socket paths are limited to 108 bytes.
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
    # Machines must not survive a killed lab.
    cd "$RUN" || return
    setpriv --pdeathsig KILL "$(emulator)" "${args[@]}" \
        </dev/null >"$name.qemu" 2>&1 &
    echo $! >"$RUN/$name.pid"
}

# wait_for_power [COMMAND…]: waits for power_on, or until COMMAND fails. The file gateway.waits
# tells cut_power that the exit of the gateway was noticed.
wait_for_power() {
    : >"$RUN/gateway.waits"
    while [ -e "$RUN/gateway.off" ] && "${@:-true}"; do sleep 0.1; done
    rm -f "$RUN/gateway.waits"
}

# is_rebooting: succeeds if the gateway has rebooted, as the console shows, or was powered off by
# cut_power.
is_rebooting() {
    [ -e "$RUN/gateway.off" ] || console_says gateway REBOOTING ||
        grep -qs "reboot: Restarting system" "$RUN/gateway.console"
}

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
        # Only the gateway may end and restart.
        wait -n "$peers" "$gateway" || true
        if ! is_rebooting || ! alive peers; then break; fi
        wait_for_power alive peers
    done
    poll 10 machines_gone || kill "$peers" "$gateway" 2>/dev/null
    wait
}

alive() { [ -f "$RUN/$1.pid" ] && kill -0 "$(cat "$RUN/$1.pid")" 2>/dev/null; }
machines_gone() { ! alive peers && ! alive gateway; }

forwarded() {
    monitor "$1" "info usernet" |
        awk -v port="$2" '$1 == "TCP[HOST_FORWARD]" && $6 == port { print $4 }'
}

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

# Kernel panic by the emulation of several CPUs (see boot), not a product defect.
panicked() { grep -qs "Kernel panic" "$RUN"/*.console; }

# boot_limit: prints the limit in seconds. procd starts services sequentially.
boot_limit() { if [ -n "${LAB_ROOT-}" ]; then echo 300; else echo 90; fi; }

not_up() {
    local machine
    WHY=''
    for machine in peers gateway; do
        ! console_says "$machine" READY || continue
        WHY+="${WHY:+$'\n'}the $machine $1; the last lines of its console:"
        WHY+=$'\n'$(console_end "$machine" | tail -n 8 | sed 's/^/    /')
    done
}

# comes_up: waits for both machines and sets up an image; sets WHY on failure.
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
        WHY="this OpenWrt cannot be the lab's gateway:"$'\n'"$(image_errors)"$'\n'
        WHY+="(./build.sh firmware x86-64 makes an image with all packages)"
    fi
    return 1
}

# gateways_ports KIND: records the gateway's host ports, except a router's, which are known later.
gateways_ports() {
    [ "$1" = router ] ||
        { poll 30 remember_port GW_SSH gateway 22 && poll 20 remember_port GW_HTTP gateway 80; }
}

# devices KIND: prints the gateway's traffic ports.
devices() {
    if [ "$1" = router ]; then router_devices; else xargs -n 1 <<<"$CABLES" | sort | xargs; fi
}

# up: boots both machines and waits for PPPoE and a packet.
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
    # Machines in tied mode die with their parent (PR_SET_PDEATHSIG).
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

# abandon: stops a lab that fails to start. Keeps files for debugging, except ports, which marks a
# running lab.
abandon() {
    stop_machines
    poll 5 machines_gone || true
    rm -f "$RUN/ports"
}

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

# answers NAME: succeeds if ssh works. An image has no key before the setup.
answers() { [ -z "${LAB_IMAGE-}" ] || console_says "$1" READY; }

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
