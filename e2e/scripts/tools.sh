# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs required programs with package managers. Needs TOP, BUILD and steps.sh.

need_packages() {
    local why=$1 package missing=()
    shift
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return 0
    say "installing for $why: ${missing[*]}"
    [ "$(id -u)" = 0 ] || die "installing needs root: apt-get install ${missing[*]}"
    mkdir -p "$BUILD"
    # Serialise with parallel kinds.
    step "package lists" flock "$BUILD/packages.lock" apt-get update -q
    step "packages for $why" flock "$BUILD/packages.lock" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}"
}

at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

need_build_tools() {
    need_packages "compiling" gcc libc6-dev ca-certificates
    local have
    have=$(cargo --version 2>/dev/null | cut -d ' ' -f 2 || true)
    if [ -z "$have" ] || ! at_least "$have" 1.90; then
        apt-cache show rustup >/dev/null 2>&1 || [ "$(id -u)" != 0 ] ||
            step "package lists" apt-get update -q
        # Debian 12 lacks rustup, and its Rust is too old.
        apt-cache show rustup >/dev/null 2>&1 ||
            die "Rust 1.90 or newer is needed (here: ${have:-none}), and apt has no rustup"
        need_packages "Rust" rustup
        step "Rust compiler" rustup toolchain install 1.95.0 --profile default
    fi
}

# with_clippy COMMAND…: compiles with clippy; a separate `cargo clippy` would recompile everything.
with_clippy() {
    CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER=clippy-driver "$@"
}

cargo_tests() {
    with_clippy cargo test --locked --workspace --all-targets --no-fail-fast \
        --manifest-path "$TOP/feeds/fastpathd/src/Cargo.toml" --target-dir "$BUILD/cargo" \
        "${@:---no-run}"
}

# Compiles the benchmark of `test scale` and `bench scale`.
scale_built() {
    cargo build --release --locked --manifest-path "$TOP/feeds/fastpathd/src/Cargo.toml" \
        --target-dir "$BUILD/cargo" -p gateway --features lab --example scale
}

# clang 16 or newer. Debian 12 has 14 by default, and 19 as a package.
need_bpf_tools() {
    local have
    for have in clang clang-22 clang-21 clang-20 clang-19; do
        have=$("$have" -dumpversion 2>/dev/null) || continue
        if at_least "$have" 16; then
            need_packages "programs for the kernel" llvm libbpf-dev
            return
        fi
    done
    need_packages "programs for the kernel" clang-19 llvm libbpf-dev
}

need_node() {
    local have
    have=$(node --version 2>/dev/null | tr -d v || true)
    if [ -z "$have" ]; then
        need_packages "building the page" nodejs npm
        have=$(node --version | tr -d v)
    fi
    at_least "$have" 20.19 || die "the page needs Node 20.19 or newer; this one is $have"
}

# npm_ready FOLDER: installs the packages of FOLDER's lock file once, under a lock.
npm_ready() {
    local stamp=$1/node_modules/.package-lock.json
    mkdir -p "$BUILD"
    exec 7>"$BUILD/npm.lock"
    flock 7
    if [ ! -e "$stamp" ] || [ "$1/package-lock.json" -nt "$stamp" ]; then
        step "npm packages of ${1##*/}" npm --prefix "$1" ci --ignore-scripts --no-audit --no-fund
        touch "$stamp"
    fi
    exec 7>&-
}

# need_promtool: unpacks the program into BUILD; installing Debian's package would start a server.
need_promtool() {
    if command -v promtool >/dev/null || [ -x "$BUILD/promtool" ]; then return 0; fi
    mkdir -p "$BUILD"
    step "promtool" flock "$BUILD/packages.lock" bash -c "set -e; $(declare -f fetch_promtool)
        BUILD=$(printf '%q' "$BUILD") fetch_promtool"
}

fetch_promtool() {
    local work=$BUILD/promtool.new
    rm -rf "$work"
    mkdir "$work"
    apt-get update -q
    (cd "$work" && apt-get download -q prometheus)
    dpkg-deb -x "$work"/prometheus_*.deb "$work"
    mv "$work/usr/bin/promtool" "$BUILD/promtool"
    rm -rf "$work"
}

need_lab_tools() {
    local packages
    packages=$(grep -v '^#' "$TOP/e2e/lab/packages")
    # shellcheck disable=SC2086 # one package per word
    need_packages "the lab's machines" $packages
}

# need_stores: unpacks Prometheus and VictoriaMetrics into BUILD/fleet/programs; installing Debian's
# packages would start servers. Tests report missing programs.
need_stores() {
    local programs=$BUILD/fleet/programs package
    mkdir -p "$programs"
    for package in prometheus victoria-metrics; do
        if [ -x "$programs/usr/bin/$package" ]; then continue; fi
        if ! apt-cache show "$package" >/dev/null 2>&1; then continue; fi
        step "$package" flock "$BUILD/packages.lock" bash -c "set -e; $(declare -f fetch_programs)
            fetch_programs $(printf '%q' "$programs") $package"
    done
}

fetch_programs() {
    cd "$1" || exit
    apt-get download -q "$2"
    dpkg-deb -x "$2"_*.deb .
    rm "$2"_*.deb
}

# need_python VENV REQUIREMENTS…: creates a virtual environment and installs the packages of each
# changed file.
need_python() {
    local venv=$1 file stamp
    shift
    need_packages "tests in Python" python3 python3-venv
    [ -x "$venv/bin/python" ] || step "Python's packages" python3 -m venv "$venv"
    for file; do
        stamp=$venv/.${file##*/}
        [ ! -e "$stamp" ] || [ "$file" -nt "$stamp" ] || continue
        step "Python's packages of ${file##*/}" "$venv/bin/pip" install -q \
            --disable-pip-version-check --no-input --no-deps -r "$file"
        touch "$stamp"
    done
}
