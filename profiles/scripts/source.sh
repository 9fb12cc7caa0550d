# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetches the pinned commits of OpenWrt and its feeds. Needs WORK, TREE, PROFILES, OPENWRT, FEEDS.

REACH=8
export GIT_TERMINAL_PROMPT=0

# shellcheck disable=SC2034 # release.sh reads them
# Sets KIND, COMMIT and ADDRESS by name, RELEASE (a number) and RELEASE_AT (its server).
pins() {
    local kind name commit address
    declare -gA KIND=() COMMIT=() ADDRESS=()
    while read -r kind name commit address; do
        case $kind in
            '' | '#'*) continue ;;
            release) RELEASE=$commit RELEASE_AT=${address%/} && continue ;;
        esac
        [[ $commit =~ ^[0-9a-f]{40}$ && -n $address ]] ||
            die "profiles/pins: '$kind $name' is not: kind, name, commit of 40 digits, address"
        KIND[$name]=$kind COMMIT[$name]=$commit ADDRESS[$name]=$address
    done <"$PROFILES/pins"
    FEED_NAMES=$(for name in "${!KIND[@]}"; do
        [ "${KIND[$name]}" != feed ] || echo "$name"
    done | sort | paste -sd ' ')
}

is_address() { [[ $1 == *://* ]]; }

# is_repository FOLDER: succeeds if the folder is the top of a git repository.
is_repository() {
    [ "$(git -C "$1" rev-parse --show-toplevel 2>/dev/null)" = "$(readlink -f "$1")" ] ||
        [ "$(git -C "$1" rev-parse --is-bare-repository 2>/dev/null)" = true ]
}

places() {
    local name from=$FEEDS
    [ -z "$OPENWRT" ] || ADDRESS[openwrt]=$OPENWRT
    if [ -z "$from" ] && [ -n "$OPENWRT" ] && ! is_address "$OPENWRT"; then
        from=$OPENWRT/..
    fi
    if [ -n "$from" ] && ! is_address "$from" && [ -d "$from/keyring" ]; then
        ADDRESS[keyring]=$(readlink -f "$from/keyring")
    fi
    for name in $FEED_NAMES; do
        [ -z "$from" ] || ! is_address "$from" || ADDRESS[$name]=${from%/}/$name.git
        [ -z "$from" ] || is_address "$from" || [ ! -d "$from/$name" ] ||
            ADDRESS[$name]=$(readlink -f "$from/$name")
        [ -z "$FEEDS" ] || [ -e "${ADDRESS[$name]}" ] || is_address "$FEEDS" ||
            die "$COMMAND: --feeds-from $FEEDS has no folder $name"
    done
    if ! is_address "${ADDRESS[openwrt]}"; then
        is_repository "${ADDRESS[openwrt]}" ||
            die "$COMMAND: --openwrt $OPENWRT is not a git repository (a clone or work tree)"
        ADDRESS[openwrt]=$(readlink -f "${ADDRESS[openwrt]}")
    fi
}

folder() {
    case $1 in
        openwrt) echo "$WORK/tree" ;;
        keyring) echo "$WORK/keyring" ;;
        *) echo "$WORK/feeds/$1" ;;
    esac
}
have() {
    [ -d "$(folder "$1")" ] && [ "$(cat "$(folder "$1").commit" 2>/dev/null)" = "${COMMIT[$1]}" ]
}

# reach NAME…: dies if a required server is unreachable, before anything is written.
reach() {
    local name waiting=() lost=''
    command -v git >/dev/null || need_packages "OpenWrt's sources" git
    REPLIES=$(mktemp -d)
    trap 'rm -rf "$REPLIES"' EXIT
    # shellcheck disable=SC2068 # several names
    for name in $@; do
        if ! is_address "${ADDRESS[$name]}" || have "$name"; then continue; fi
        timeout "$REACH" git ls-remote --quiet "${ADDRESS[$name]}" HEAD \
            >"$REPLIES/$name" 2>&1 </dev/null || echo "$?" >"$REPLIES/$name.status" &
        waiting+=("$name")
    done
    wait
    for name in "${waiting[@]}"; do
        [ -e "$REPLIES/$name.status" ] || continue
        lost+=$(printf '\n  %s: %s\n    %s' "$name" "${ADDRESS[$name]}" "$(unreached "$name")")
    done
    [ -z "$lost" ] || unplugged "$lost"
}

unreached() {
    if [ "$(cat "$REPLIES/$1.status")" = 124 ]; then
        echo "no answer within $REACH s"
    else
        tail -n 1 "$REPLIES/$1"
    fi
}

unplugged() {
    die "$COMMAND: cannot be reached:$1
Nothing was written. Remedies:
  with a network that reaches these, run the same command again
  --openwrt DIR|URL      another clone of OpenWrt that has commit ${COMMIT[openwrt]:0:12}
  --feeds-from DIR|URL   clones of the feeds $FEED_NAMES
  --download-mirror URL  a mirror of OpenWrt's archives"
}

# Dies if the mirror or OpenWrt's server of archives is unreachable.
reach_mirror() {
    local address=${MIRROR:-https://sources.openwrt.org/} said
    case $address in
        file://*) [ -d "${address#file://}" ] || unplugged "
  archives: $address
    there is no such folder"
            return ;;
    esac
    command -v curl >/dev/null || need_packages "asking the mirror" curl
    # Any answer counts, because some servers do not list their folder.
    said=$(curl -sS -o /dev/null --max-time "$REACH" "$address" 2>&1) || unplugged "
  archives: $address
    ${said##*$'\n'}"
}

# obtain NAME: fetches a source at its commit. A failure leaves the source unchanged.
obtain() {
    local name=$1 commit=${COMMIT[$1]} address=${ADDRESS[$1]} into
    into=$(folder "$name")
    have "$name" && return
    mkdir -p "$(dirname "$into")"
    rm -rf "$into.new"
    if is_address "$address" || is_repository "$address"; then
        is_address "$address" || address=file://$address
        step "$name at ${commit:0:12}" clone "$address" "$commit" "$into.new" ||
            die "$COMMAND: $name: commit $commit did not come from $address
name a repository that has it (--openwrt, --feeds-from)"
        echo "$commit" >"$into.new.commit"
    else
        say "  ! $name: $address is not a git repository: that it is ${commit:0:12} is not checked"
        step "$name from a folder" cp -a --reflink=auto "$address/." "$into.new"
        echo unchecked >"$into.new.commit"
    fi
    rm -rf "$into" "$into.commit"
    mv "$into.new" "$into"
    mv "$into.new.commit" "$into.commit"
}

# clone ADDRESS COMMIT INTO: clones a commit without history. The clone is a repository, because
# LuCI derives versions from the date of a package's last commit.
clone() {
    git init -q "$3"
    git -C "$3" fetch -q --depth 1 "$1" "$2" </dev/null || return
    [ "$(git -C "$3" rev-parse FETCH_HEAD)" = "$2" ] || { echo "it gave another commit"; return 1; }
    git -C "$3" checkout -q --detach "$2"
}

digest() { { cat /dev/null "$@" 2>/dev/null || true; } | sha256sum; }

# patched FOLDER COMMIT PATCHES: applies our patches on a branch, with reproducible commits.
patched() {
    local into=$1 commit=$2 folder=$3 patch want
    want=$(digest "$folder"/*.patch)
    [ -d "$into/.git" ] || return 0
    [ -z "$(git -C "$into" status --porcelain --untracked-files=no)" ] ||
        die "$COMMAND: files in $into were changed locally:
$(git -C "$into" status --porcelain --untracked-files=no | head -n 5)
Undo that (git -C $into checkout .), or make it a patch in profiles/patches."
    [ "$(cat "$into/.git/fastpath-patches" 2>/dev/null)" != "$want" ] || return 0
    git -C "$into" checkout -q -B fastpath "$commit"
    for patch in "$folder"/*.patch; do
        [ -e "$patch" ] || continue
        GIT_COMMITTER_NAME=fastpath GIT_COMMITTER_EMAIL=fastpath@example.org \
            git -C "$into" -c commit.gpgsign=false am -q --committer-date-is-author-date "$patch" ||
            unpatched "$into" "$commit" "$patch"
    done
    echo "$want" >"$into/.git/fastpath-patches"
}

unpatched() {
    git -C "$1" am --abort 2>/dev/null || true
    git -C "$1" checkout -q -B fastpath "$2"
    rm -f "$1/.git/fastpath-patches"
    die "$COMMAND: ${3#"$PROFILES/"} does not fit commit ${2:0:12} (git's words are above)
The tree is without patches again."
}

sources() {
    local name
    for name; do
        obtain "$name"
        patched "$(folder "$name")" "${COMMIT[$name]}" "$PROFILES/patches/$name"
    done
    # Archives outlive the tree.
    mkdir -p "$WORK/dl"
    [ -e "$TREE/dl" ] || ln -s ../dl "$TREE/dl"
}
