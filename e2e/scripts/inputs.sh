# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which files tests depend on, and whether these have changed. Needs TOP.

# project_files FOLDER…: one hash of the project's files in them: names, modes and contents. The
# content of a link is its target's name. A deleted file is in the hash by tar's message, which
# names it.
project_files() {
    (cd "$TOP" && git ls-files -z --cached --others --exclude-standard "$@" |
        { tar --null --verbatim-files-from -T - --no-recursion --mtime=@0 --owner=0 --group=0 \
            --numeric-owner -cf - 2>&1 || true; } | sha256sum)
}

# branch_keeps PATTERN…: whether these files are as in BASE, the commit at which the branch left
# origin's main. On main, where several commits land together, BASE is the newest commit that is
# three hours older than HEAD. A fresh clone has no record of earlier runs.
branch_keeps() {
    local head made
    head=$(git -C "$TOP" rev-parse HEAD)
    BASE=$(git -C "$TOP" merge-base HEAD origin/main 2>/dev/null || true)
    if [ -z "$BASE" ] || [ "$BASE" = "$head" ]; then
        made=$(git -C "$TOP" log -1 --format=%ct)
        BASE=$(git -C "$TOP" rev-list -1 --before="$((made - 3 * 3600))" HEAD)
        [ -n "$BASE" ] || return 1
    fi
    git -C "$TOP" diff --quiet "$BASE" -- "$@" &&
        [ -z "$(git -C "$TOP" ls-files --others --exclude-standard -- "$@")" ]
}

# unneeded KIND PATTERN…: whether the short tier leaves it out: these inputs, its tests and the
# scripts of images are unchanged.
unneeded() {
    local kind=$1
    shift
    [ "$CHOSEN" = @core ] && branch_keeps "e2e/tests/$kind" build.sh e2e/scripts/{steps,tools}.sh \
        profiles "$@" || return 1
    skipped_kind "$kind: its inputs are unchanged since ${BASE:0:8} (test $kind runs it)"
}
