# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts, monitors and stops the two virtual machines. Needs the other parts, see lab.
#
# $RUN holds the files of one running lab: NAME.pid, NAME.console, NAME.monitor (QEMU's monitor
# socket), link.N (one per cable), ports (the host's ports as shell assignments).

CABLES="lan1 lan2 lan3 wan"

# machine_kind: prints qemu, uml, or router (only the peers are a machine).
machine_kind() {
    if [ -n "${LAB_ROUTER-}" ]; then echo router; else echo "${LAB_MACHINE:-qemu}"; fi
}

# Prints the accelerator: kvm only if a guest reaches user space with it, which a usable /dev/kvm
# does not prove. Tested once for each kernel and QEMU.
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
#
# The machines boot with one CPU. A kernel that patches its code (first netfilter hook, a module)
# while another emulated CPU translates it can keep a breakpoint, "Oops: int3". The gateway enables
# its other CPUs after its network is set up.
boot() {
    local line="console=ttyS0 panic=-1 quiet mitigations=off nokaslr maxcpus=1" disk=()
    if [ -f "$RUN/$1.disk" ]; then
        line+=" overlay"
        # Data that the guest has flushed is in the host's page cache, which survives a killed QEMU.
        disk=(-drive "if=none,id=own,file=$1.disk,format=raw,cache=unsafe"
            -device "virtio-blk-pci,drive=own")
    fi
    # The files are read-only, and user-mode machines lock them in a different way.
    local shared="format=raw,readonly=on,file.locking=off"
    BOOT=(-serial "file:$1.console" -kernel "$IMAGES/vmlinux" -initrd "$IMAGES/initrd.cpio"
        -append "$line"
        -drive "if=none,id=base,file=$IMAGES/base.erofs,$shared"
        -device "virtio-blk-pci,drive=base"
        -drive "if=none,id=layer,file=$IMAGES/$1.erofs,$shared"
        -device "virtio-blk-pci,drive=layer" "${disk[@]}")
}

# make_disk NAME: creates an empty sparse disk.
make_disk() {
    truncate -s 512M "$RUN/$1.disk"
    mke2fs -q -F -t ext4 -m 0 -J size=8 -E lazy_itable_init=1,lazy_journal_init=1 "$RUN/$1.disk"
}

# known_port NAME SSH|HTTP: prints the gateway's port if it already has one, else 0.
known_port() {
    local port
    [ "$1" != gateway ] || port=$(sed -n "s/^GW_$2=//p" "$RUN/ports" 2>/dev/null) || true
    echo "${port:-0}"
}

# machine NAME ID MEMORY CPUS SERVER: starts QEMU in the background; SERVER=on opens the cables'
# sockets.
machine() {
    local name=$1 memory=$3 cpus=$4 server=$5 cable number=0 args cpu mac=52:54:00:0$2:00
    local BOOT CABLE
    case $ACCEL in
        kvm) cpu=(-accel kvm -cpu host) ;;
        # Fewer vector units (Nehalem) mean less to emulate. Without rdrand pppd waits for random
        # numbers; without aes, which the emulator runs natively, TLS takes three times as long. The
        # default translation cache grows without bound.
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
    # The kernel chooses the host's ports (0) and the monitor reports them. A machine that is
    # powered on again keeps its ports.
    user+=",hostfwd=tcp:127.0.0.1:$(known_port "$name" SSH)-:22"
    user+=",hostfwd=tcp:127.0.0.1:$(known_port "$name" HTTP)-:80"
    # Socket names are relative, because a socket's path is limited to 108 bytes.
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
    # Without the parent-death signal the machines would survive a killed lab.
    cd "$RUN" || return
    setpriv --pdeathsig KILL "$(emulator)" "${args[@]}" \
        </dev/null >"$name.qemu" 2>&1 &
    echo $! >"$RUN/$name.pid"
}

# wait_for_power [COMMAND…]: waits for power_on, or until COMMAND fails. gateway.waits tells
# cut_power that the lab has noticed the end of the gateway.
wait_for_power() {
    : >"$RUN/gateway.waits"
    while [ -e "$RUN/gateway.off" ] && "${@:-true}"; do sleep 0.1; done
    rm -f "$RUN/gateway.waits"
}

# on_again: succeeds if the gateway rebooted or lost power by cut_power, instead of ending. The
# lab's init or the kernel logs a reboot on the console.
on_again() {
    [ -e "$RUN/gateway.off" ] || console_says gateway REBOOTING ||
        grep -qs "reboot: Restarting system" "$RUN/gateway.console"
}

# keep: runs as the parent of both machines, which end together with it.
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
        # A lab needs both machines; only a gateway that comes back is restarted.
        wait -n "$peers" "$gateway" || true
        if ! on_again || ! alive peers; then break; fi
        wait_for_power alive peers
    done
    poll 10 machines_gone || kill "$peers" "$gateway" 2>/dev/null
    wait
}

alive() { [ -f "$RUN/$1.pid" ] && kill -0 "$(cat "$RUN/$1.pid")" 2>/dev/null; }
machines_gone() { ! alive peers && ! alive gateway; }

# forwarded NAME GUEST-PORT: prints the host's port that is forwarded to it.
forwarded() {
    monitor "$1" "info usernet" |
        awk -v port="$2" '$1 == "TCP[HOST_FORWARD]" && $6 == port { print $4 }'
}

# remember_port NAME MACHINE GUEST-PORT: writes the port into the ports file once it is known.
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

# Detects panics caused by the emulation of several CPUs, see boot; not a defect of the product.
panicked() { grep -qs "Kernel panic" "$RUN"/*.console; }

# boot_limit: prints the limit in seconds. procd starts OpenWrt's services one at a time.
boot_limit() { if [ -n "${LAB_ROOT-}" ]; then echo 300; else echo 90; fi; }

# not_up WHAT: sets WHY to WHAT and the end of the console of each machine that is not up.
not_up() {
    local machine
    WHY=''
    for machine in peers gateway; do
        ! console_says "$machine" READY || continue
        WHY+="${WHY:+$'\n'}the $machine $1; the last lines of its console:"
        WHY+=$'\n'$(console_end "$machine" | tail -n 8 | sed 's/^/    /')
    done
}

# comes_up: sets up an image first; sets WHY on failure.
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

# gateways_ports KIND: records the gateway's ports; a router's lead through the peers, later.
gateways_ports() {
    [ "$1" = router ] ||
        { poll 30 remember_port GW_SSH gateway 22 && poll 20 remember_port GW_HTTP gateway 80; }
}

# devices KIND: prints the names of the gateway's ports for traffic.
devices() {
    if [ "$1" = router ]; then router_devices; else xargs -n 1 <<<"$CABLES" | sort | xargs; fi
}

# up: boots both machines and waits for PPPoE and the first packet.
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

# abandon: stops a lab that does not come up. Keeps its files for debugging, except ports, which
# would mark it as running.
abandon() {
    stop_machines
    poll 5 machines_gone || true
    rm -f "$RUN/ports"
}

# down: powers the machines off, and stops a machine that does not react.
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

# answers NAME: succeeds if ssh works. An image lacks the lab's key until it is set up.
answers() { [ -z "${LAB_IMAGE-}" ] || console_says "$1" READY; }

# keep_logs NAME: saves the machines' logs under build/reports/NAME.
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
