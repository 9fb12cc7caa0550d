#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The single entry point of the project. Without arguments it lists its commands.
set -euo pipefail
CALLED_IN=$PWD
cd "$(dirname "$(readlink -f "$0")")"
TOP=$PWD
# BUILD from the environment is used if it is absolute; the scripts below do the same.
[[ ${BUILD-} == /* ]] || BUILD=$TOP/build
SRC=$TOP/feeds/fastpathd/src
# LLVM outlines repeated instructions by default only on ARM. ICF merges equal functions, which the
# linker of Rust 1.90 supports. --remap-path-prefix removes the registry's folder from messages.
CRATES=${CARGO_HOME:-$HOME/.cargo}/registry/src
SHARED="-C llvm-args=-enable-machine-outliner=always -C llvm-args=-machine-outliner-reruns=4 \
--cfg sha2_backend_soft=\"compact\""
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS="$SHARED -C link-arg=-Wl,--icf=all \
--remap-path-prefix=$CRATES="
# shellcheck source=e2e/scripts/steps.sh
. "$TOP/e2e/scripts/steps.sh"
# shellcheck source=e2e/scripts/tools.sh
. "$TOP/e2e/scripts/tools.sh"

usage() {
    cat <<'END'
usage: ./build.sh COMMAND

  lab [--once] [--ips] [--machine uml] [--image FILE | --root FOLDER]
                     build everything, boot the gateway and its peers, compare the engines.
                     On a terminal the lab keeps running and prints address and login; --once
                     stops it. --ips measures inspection instead. --machine uml runs user-mode
                     Linux without emulation, and builds some of its modules. --image boots an
                     OpenWrt image for x86-64 as the gateway. --root boots a folder with OpenWrt's
                     userland and installs our packages
  bench [--time]     count the instructions per forwarded packet for each engine;
                     --time also measures time
  bench matrix [--publish]
                     rows of the source documents: TCP streams, frame sizes, peers, two CPUs,
                     tunnels; --publish writes tables and plot into docs
  bench tunnels      the same into and out of each kind of tunnel, with and without flowtable
  bench connections  a TCP connection through each engine, with and without conntrack helpers
  bench contention   two CPUs, one of them busy with a program, with and without the CPU plan
  bench modes        Suricata by NFQUEUE, by copies, and as a bridge
  bench shape        CAKE under load at 50/10 and 200/40 Mbit/s, timed by instructions
  bench scale [N…]   the daemon with N × 100,000 connections, by default up to a million: memory,
                     time of events, dumps and answers; maps of the kernel
  bench fleet        5 to 50 gateways with nfcapd and VictoriaMetrics: totals, CPU, memory
  test [--shuffle SEED] [all|timed|KIND…]
                     run tests and print a summary (./build.sh test list)
  fuzz [TARGET|all] [SECONDS]
                     fuzz one or all parsers of untrusted bytes, by default for 60 s; findings
                     are in build/fuzz
  sources PROFILE    bundle the sources of a router's software, with a bill of materials;
                     --own: only our part, without OpenWrt
  packages TARGET    build our packages with OpenWrt's SDK
  firmware PROFILE   make an image: our packages in OpenWrt's release, with its ImageBuilder;
                     --from-source: everything from pinned sources (--list: profiles)
  feed DIR           make a signed feed of our packages for routers
  image-check [PROFILE|FILE]
                     compare image sizes with the device's limits
  programs [musl|release]
                     build only the gateway's programs, by default for the lab
  page               build only the page, into ui/dist
  shell gw|peers     open a shell on a machine of the running lab
  ui-dev             serve the page with live reload, connected to the running lab
  clean              remove build/ and all other build products

Build products are in build/, or in the folder BUILD. Each command can be interrupted and repeated.
END
}

build_programs() {
    need_build_tools
    need_bpf_tools
    step "programs for the kernel" "$SRC/bpf/build" "$BUILD/fastpath.o"
    step "crates: programs, stand-in, tests" cargo_tests
}

build_release() {
    build_programs
    step "fastpath as a release" cargo build --release --locked \
        --manifest-path "$SRC/Cargo.toml" --target-dir "$BUILD/cargo" -p fastpath
}

# Builds programs linked with musl, as in OpenWrt. PROGRAMS=build/musl makes a lab use them.
build_musl() {
    "$TOP/e2e/tests/cross/perform" prepare
    step "programs linked with musl" "$TOP/e2e/tests/cross/perform" musl programs "$BUILD/musl"
}

build_page() {
    need_node
    npm_ready "$TOP/ui"
    mkdir -p "$BUILD"
    exec 8>"$BUILD/page.lock"
    flock 8
    if stale "$TOP/ui/dist/index.html" "$TOP/ui" node_modules dist; then
        step "page" npm --prefix "$TOP/ui" run --silent build
    fi
    exec 8>&-
}

build_all() {
    build_programs
    build_page
}

cmd_lab() {
    local once=0 bench='' image=()
    while [ $# != 0 ]; do
        case $1 in
            --once) once=1 ;;
            --ips) bench=ips ;;
            --image)
                [ -n "${2-}" ] || die "lab: --image needs a file"
                image=(--image "$(cd "$CALLED_IN" && realpath -m "$2")")
                shift
                ;;
            --root)
                [ -n "${2-}" ] || die "lab: --root needs a folder"
                image=(--root "$(cd "$CALLED_IN" && realpath -m "$2")")
                shift
                ;;
            --machine)
                case ${2-} in
                    uml | qemu) export LAB_MACHINE=$2 ;;
                    *) die "lab: --machine is uml or qemu" ;;
                esac
                shift
                ;;
            *) die "lab: unknown option '$1' (--once, --ips, --machine uml, --image FILE," \
                "--root FOLDER)" ;;
        esac
        shift
    done
    # One CPU forwards and one inspects. Measurements use the release build.
    [ -z "$bench" ] || export LAB_SMP=${LAB_SMP:-2} PROGRAMS=${PROGRAMS:-$BUILD/cargo/release}
    need_lab_tools
    BUILD_STARTED=$(now)
    if [ "${image[0]-}" != --image ]; then
        build_all
        [ -z "$bench" ] || build_release
        "$TOP/e2e/lab/lab" "${image[@]}" images
    fi
    export BUILD_S=$(($(now) - BUILD_STARTED))
    if [ "$once" = 1 ] || [ ! -t 1 ]; then
        "$TOP/e2e/lab/lab" "${image[@]}" once $bench
    else
        "$TOP/e2e/lab/lab" "${image[@]}" stay $bench
    fi
}

cmd_test() {
    "$TOP/e2e/scripts/test" "$@"
}

cmd_fuzz() {
    BUILD=$BUILD "$TOP/e2e/scripts/fuzz" "$@"
}

cmd_bench() {
    [ "${1-}" != fleet ] || exec "$TOP/e2e/bench/fleet/run"
    [ "${1-}" != scale ] || exec "$TOP/e2e/bench/scale" "${@:2}"
    need_packages "the bench" gcc libc6-dev
    need_bpf_tools
    need_lab_tools
    "$TOP/e2e/bench/run" "$@"
}

cmd_shell() {
    case ${1-} in
        gw | peers) exec "$TOP/e2e/lab/lab" shell "$1" ;;
        *) die "shell: which machine? gw or peers" ;;
    esac
}

cmd_ui_dev() {
    need_node
    npm_ready "$TOP/ui"
    FASTPATH_URL=$("$TOP/e2e/lab/lab" url) || die "ui-dev: no lab is running (./build.sh lab)"
    export FASTPATH_URL
    say "page with live reload, talking to $FASTPATH_URL"
    exec npm --prefix "$TOP/ui" run dev
}

cmd_clean() {
    [ "$BUILD" = "$TOP/build" ] || die "clean: delete $BUILD yourself: BUILD names it"
    if [ -x "$TOP/e2e/lab/lab" ]; then "$TOP/e2e/lab/lab" down >/dev/null 2>&1 || true; fi
    rm -rf "$BUILD" "$TOP/ui/dist" "$TOP"/ui/src/lib/api/types*.ts \
        "$TOP/ui/node_modules" "$TOP/e2e/node_modules" \
        "$TOP/profiles/node_modules" \
        "$TOP/feeds/fastpathd/source.mk" "$TOP/luci-app-fastpath/source.mk"
    say "removed build/, ui/dist and the node_modules folders"
}

case ${1-} in
    lab) shift; cmd_lab "$@" ;;
    bench) shift; cmd_bench "$@" ;;
    sources) shift; exec "$TOP/profiles/sources/bundle" "$@" ;;
    packages) shift; export CALLED_IN; exec "$TOP/profiles/scripts/packages" "$@" ;;
    firmware) shift; export CALLED_IN; exec "$TOP/profiles/scripts/firmware" "$@" ;;
    feed) shift; export CALLED_IN; exec "$TOP/profiles/scripts/feed" "$@" ;;
    image-check) shift; exec "$TOP/profiles/scripts/image-check" "$@" ;;
    test) shift; cmd_test "$@" ;;
    fuzz) shift; cmd_fuzz "$@" ;;
    shell) shift; cmd_shell "$@" ;;
    ui-dev) cmd_ui_dev ;;
    programs)
        case ${2-} in
            "") build_programs ;;
            musl) build_musl ;;
            release) build_release ;;
            *) die "programs: release, musl, or nothing for those of the lab" ;;
        esac
        ;;
    page) build_page ;;
    clean) cmd_clean ;;
    "" | -h | --help | help) usage ;;
    *) usage >&2; die "unknown command '$1'" ;;
esac
