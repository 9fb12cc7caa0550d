# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Determines the files that tests depend on, and whether they have changed. Needs TOP.

# project_files FOLDER…: prints a hash of names, modes and contents of the project's files. A link
# counts by its target's name, a deleted file by tar's error.
project_files() {
    (cd "$TOP" && git ls-files -z --cached --others --exclude-standard "$@" |
        { tar --null --verbatim-files-from -T - --no-recursion --mtime=@0 --owner=0 --group=0 \
            --numeric-owner -cf - 2>&1 || true; } | sha256sum)
}

# branch_keeps PATTERN…: succeeds if these files are unchanged after BASE, where the branch left
# origin's main. On main, BASE is three hours older than HEAD, because several commits land
# together. A fresh clone has no record of earlier runs.
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

# unneeded KIND PATTERN…: succeeds and counts a skip if the short tier omits the kind, because its
# inputs, its tests and the image scripts are unchanged.
unneeded() {
    local kind=$1
    shift
    [ "$CHOSEN" = @core ] && branch_keeps "e2e/tests/$kind" build.sh e2e/scripts/{steps,tools}.sh \
        profiles "$@" || return 1
    skipped_kind "$kind: its inputs are unchanged since ${BASE:0:8} (test $kind runs it)"
}
