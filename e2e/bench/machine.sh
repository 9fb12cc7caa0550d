# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The benchmark machine: one emulated CPU, whose clock counts instructions. For sourcing.
# shellcheck source=e2e/lab/paths.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../lab/paths.sh"
# shellcheck source=e2e/lab/images.sh
. "$LAB/images.sh"
BENCH=$TOP/e2e/bench
SOURCES=$TOP/feeds/fastpathd/src
BPF=$SOURCES/bpf
OUT=$BUILD/bench
# Sockets of a machine. Machines that run at the same time have folders of their own.
SOCKETS=$OUT
# An instruction takes 2 ns; idle time is skipped.
CLOCK=(-icount "shift=1,sleep=off")

# bench_programs FOLDER: builds our programs, those for comparison, and the helpers.
bench_programs() {
    mkdir -p "$1"
    "$BPF/build" "$1/fastpath.o"
    "$BPF/build" -s "$BENCH/baseline.c" "$1/baseline.o"
    gcc -O2 -static -Wall -Wextra -I"$BPF" "$BENCH/entries.c" -o "$1/entries"
    gcc -O2 -static -Wall -Wextra "$BENCH/accept.c" -o "$1/accept"
    gcc -O2 -static -Wall -Wextra "$BENCH/dial.c" -o "$1/dial"
    gcc -O2 -static -Wall -Wextra "$BENCH/stream.c" -o "$1/stream"
    gcc -O2 -static -Wall -Wextra "$BENCH/connect.c" -o "$1/connect"
    cargo build --release --locked --quiet --manifest-path "$SOURCES/Cargo.toml" \
        --target-dir "$BUILD/cargo" -p fastpath -p topology -p latency --bins \
        --example lookups --example limit
    cp "$BUILD/cargo/release/fastpath" "$BUILD/cargo/release/examples/"{lookups,limit} "$1/"
    ln -sf fastpath "$1/fastpathd"
    ln -sf fastpath "$1/fastpath-bpf"
}

# product_rules GOLDEN FILE: writes the daemon's rules from a golden test, with the benchmark's
# devices.
product_rules() {
    local golden=$SOURCES/crates/ruleset/tests/golden/$1
    sed '1,/^-- rules --$/d; s/devices = {[^}]*}/devices = { "lan", "wan" }/
        s/"lan1" \. /"lan" . /; s/"lan[23]" \. [^,]*, //g' "$golden" >"$2"
    grep -q 'flow add @ft' "$2" || die "$golden has no rules of the flowtable"
}

# guarded_rules PRODUCT FILE: writes the same rules, but offloads a flow with its first packets, to
# measure the comparison of each frame's address.
guarded_rules() {
    sed '/ct id != @passed_/d; /ct state != established return/d
        s/^\(\t\tdevices = \).*/\1{ "lan", "wan", "dum" }/' "$1" >"$2"
}

images_of_bench() {
    lock_images
    image_base
    exec 9>&-
}

build_bench() {
    local root=$IMAGES/stage.bench
    rm -rf "$root"
    mkdir -p "$root/lab" "$root/bench" "$OUT"
    cp "$BENCH/guest/init" "$root/lab/init"
    chmod 755 "$root/lab/init"
    cp -r "$BENCH/guest/." "$BENCH/rules" "$TOP/suricata-pkg/files/suricata.yaml" \
        "$TOP/feeds/fastpathd/files/fastpath-cpu.init" "$root/bench/"
    bench_programs "$root/bench/programs"
    # The daemon expects its programs at these paths.
    mkdir -p "$root/usr/lib/bpf" "$root/usr/libexec"
    ln -s /bench/programs/fastpath.o "$root/usr/lib/bpf/fastpath.o"
    ln -s /bench/programs/fastpath-bpf "$root/usr/libexec/fastpath-bpf"
    product_rules 01-defaults.txt "$root/bench/rules/product.nft"
    product_rules 29-ebpf.txt "$root/bench/rules/product-ebpf.nft"
    guarded_rules "$root/bench/rules/product.nft" "$root/bench/rules/guarded.nft"
    gcc -O2 -Wall -Wextra "$BENCH/frames.c" -o "$OUT/frames"
    gcc -O2 -Wall -Wextra -shared -fPIC -DAPI=$(($(qemu_major) < 9 ? 1 : 2)) "$BENCH/counts.c" \
        -o "$OUT/counts.so"
    seal bench "$root"
}

qemu_major() { qemu-system-x86_64 --version | sed -n 's/.* version \([0-9]*\).*/\1/p'; }

# two_cpus: gives the machine two CPUs that run at the same time, in real time, because -icount runs
# one at a time and lets a busy one starve the other. The plugin counts the instructions of each.
two_cpus() {
    CPUS=2 CLOCK=(-rtc base=utc -plugin "$OUT/counts.so,to=$SOCKETS/counts")
}

# machine WORD…: runs QEMU with WORD on the kernel's command line. Frames of the host enter at lan;
# frames that leave at wan are dropped. A timer empties wan's queue, so that guest time decides.
machine() {
    mkdir -p "$SOCKETS"
    cd "$SOCKETS" || return
    exec setpriv --pdeathsig KILL timeout -k 5 "${BENCH_LIMIT:-1800}" \
        setpriv --pdeathsig KILL qemu-system-x86_64 -machine q35 -accel tcg "${CLOCK[@]}" \
        -cpu "Westmere,+rdrand" -smp "${CPUS:-1}" -m 1536 \
        -nodefaults -no-user-config -display none -no-reboot -serial stdio \
        -monitor "unix:monitor.sock,server=on,wait=off" -D trace.now \
        -kernel "$IMAGES/vmlinux" -initrd "$IMAGES/initrd.cpio" -append "console=ttyS0 panic=-1 \
quiet mitigations=off nokaslr init_on_alloc=0 $*" \
        -drive "if=none,id=base,file=$IMAGES/base.erofs,format=raw,readonly=on,file.locking=off" \
        -device virtio-blk-pci,drive=base \
        -drive "if=none,id=layer,file=$IMAGES/bench.erofs,format=raw,readonly=on,file.locking=off" \
        -device virtio-blk-pci,drive=layer \
        -netdev "stream,id=lan,server=on,addr.type=unix,addr.path=lan.sock" \
        -device "virtio-net-pci,netdev=lan,mac=02:00:00:00:01:01,rx_queue_size=1024,romfile=" \
        -netdev "hubport,id=wan,hubid=1" -chardev null,id=nowhere \
        -object "filter-redirector,id=sink,netdev=wan,queue=all,outdev=nowhere" \
        -device "virtio-net-pci,netdev=wan,mac=02:00:00:00:02:01,ioeventfd=off,tx=timer,romfile="
}

order() { socat -t 2 - "UNIX-CONNECT:$SOCKETS/monitor.sock" <<<"$1" >/dev/null; }

# obey WORD…: executes a request by host() in guest/lib.sh.
obey() {
    case $1 in
        send)
            shift
            echo "$*" >&7
            ;;
        trace)
            TRACED=$2
            order "singlestep on"
            order "log exec,nochain"
            ;;
        traced)
            order "log none"
            order "singlestep off"
            order "memsave 0xffffffffc0000000 0x20000 text"
            mv "$SOCKETS/trace.now" "$OUT/$TRACED.trace"
            order "logfile trace.now"
            ;;
        counts) ANSWER=$(od -An -v -t u8 -w16 -N 16 "$SOCKETS/counts") ;;
        *) die "the machine asks for '$*'" ;;
    esac
}

# talk WORD…: runs a machine and serves its requests; prints other output.
talk() {
    local line from to
    # A socket of a machine that was killed would look like the new one's.
    rm -f "$SOCKETS/lan.sock" "$SOCKETS/monitor.sock"
    coproc QEMU { machine "$@" 2>&1; }
    exec {from}<&"${QEMU[0]}" {to}>&"${QEMU[1]}"
    poll 300 test -S "$SOCKETS/lan.sock" || die "QEMU does not start"
    exec 7> >(exec "$OUT/frames" "$SOCKETS/lan.sock")
    while IFS= read -r line <&"$from"; do
        line=${line%$'\r'}
        case $line in
            "HOST "*)
                ANSWER=''
                # shellcheck disable=SC2086 # split on purpose
                obey ${line#HOST }
                echo "$ANSWER" >&"$to"
                ;;
            *) printf '%s\n' "$line" ;;
        esac
    done
    exec 7>&- {from}<&- {to}>&-
}
