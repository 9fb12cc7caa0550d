# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions shared by the commands for packages and images. Needs HERE and COMMAND.
TOP=$(cd "$HERE/../.." && pwd)
BUILD=${BUILD:-$TOP/build}
# All profiles share a tree, because building the toolchain takes hours. OpenWrt separates the
# output by target.
WORK=${FIRMWARE_DIR:-$BUILD/openwrt}
# shellcheck disable=SC2034 # configure.sh and compile.sh read it
TREE=$WORK/tree
PROFILES=${PROFILES:-$TOP/profiles}
export PROFILES
# shellcheck source=e2e/scripts/steps.sh
. "$TOP/e2e/scripts/steps.sh"
# shellcheck source=e2e/scripts/tools.sh
. "$TOP/e2e/scripts/tools.sh"
for part in source release configure compile sdk images; do
    # shellcheck source=/dev/null
    . "$HERE/$part.sh"
done

profile() { node "$HERE/profile.mjs" "$@" || exit 1; }

named() { (cd "${CALLED_IN:-$PWD}" && realpath -m "$1"); }

need_profiles() {
    need_node
    npm_ready "$TOP/profiles"
}

# shellcheck disable=SC2153 # set by the command
known_profile() {
    [[ $PROFILE != common && $PROFILE =~ ^[a-z0-9-]+$ && -f $PROFILES/$PROFILE.yml ]] ||
        die "$COMMAND: unknown profile '$PROFILE' (./build.sh firmware --list)"
}

locked() {
    mkdir -p "$WORK"
    exec 9>"$WORK/lock"
    flock -n 9 || die "$COMMAND: another one is under way in $WORK"
}

# Sets RUST, and for the host's Rust FASTPATH_RUST, the folder of its programs.
host_rust() {
    local triple want
    triple=$(profile get "$PROFILE" arch)-unknown-linux-musl
    case $triple in
        x86_64-* | aarch64-*) want=host ;;
        *) want=openwrt ;;
    esac
    RUST=${RUST:-$want}
    if [ "$RUST" = openwrt ]; then
        say "  ! Rust and LLVM are built from source: that takes hours"
        return
    fi
    need_build_tools
    FASTPATH_RUST=$(rustup which cargo 2>/dev/null || readlink -f "$(command -v cargo)")
    FASTPATH_RUST=${FASTPATH_RUST%/*}
    export FASTPATH_RUST
    std_for "$triple" || ! command -v rustup >/dev/null ||
        step "Rust's standard library for $triple" rustup target add "$triple" || true
    std_for "$triple" || die "$COMMAND: this machine's Rust has no standard library for $triple:
install it (rustup target add $triple), or take OpenWrt's Rust: --rust openwrt"
}

std_for() {
    compgen -G "$("$FASTPATH_RUST/rustc" --print target-libdir --target "$1")/libstd-*" >/dev/null
}

need_host_tools() {
    need_packages "OpenWrt's configuration" build-essential file gawk git libncurses-dev perl \
        python3 python3-setuptools rsync unzip wget
    [ "${CONFIG_ONLY:-0}" = 1 ] ||
        need_packages "OpenWrt's build" bison clang curl flex gettext libelf-dev libssl-dev llvm \
            python3-dev swig zlib1g-dev zstd
}

need_sdk_tools() {
    need_packages "OpenWrt's SDK" build-essential curl file gawk gettext git libncurses-dev perl \
        python3 python3-setuptools rsync unzip wget zstd
}

need_imagebuilder_tools() {
    need_packages "OpenWrt's ImageBuilder" build-essential curl file gawk git perl python3 \
        python3-setuptools rsync unzip wget zstd
}
