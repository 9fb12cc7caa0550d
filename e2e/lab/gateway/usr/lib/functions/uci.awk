# SPDX-License-Identifier: GPL-2.0-or-later
# A UCI file as shell assignments. Values are single words or quoted by ' or ", one line each,
# which is all that this lab's files hold. `quote` is a single quote, passed in.

function value(line,    first) {
    first = substr(line, 1, 1)
    if (first == quote || first == "\"") {
        line = substr(line, 2)
        sub(first "[ \t]*(#.*)?$", "", line)
    } else {
        sub(/[ \t].*$/, "", line)
    }
    return line
}

function shell(text) {
    gsub(quote, quote "\\" quote quote, text)
    return quote text quote
}

function finish() {
    if (section == "") return
    for (option in options)
        print "UCI_" section "_" option "=" shell(options[option])
    delete options
}

{ sub(/^[ \t]+/, "") }

$1 == "config" {
    finish()
    name = ""
    rest = $0
    sub(/^config[ \t]+[^ \t]+[ \t]*/, "", rest)
    if (rest != "") name = value(rest)
    section = name != "" ? name : sprintf("cfg%02d", count)
    gsub(/[^A-Za-z0-9_]/, "_", section)
    count++
    sections = sections " " section
    type = $2
    gsub("[" quote "\"]", "", type)
    options["TYPE"] = type
}

$1 == "option" || $1 == "list" {
    rest = $0
    sub(/^(option|list)[ \t]+[^ \t]+[ \t]*/, "", rest)
    rest = value(rest)
    key = $2
    gsub("[" quote "\"]", "", key)
    gsub(/[^A-Za-z0-9_]/, "_", key)
    if ($1 == "list" && key in options) rest = options[key] " " rest
    options[key] = rest
}

END {
    finish()
    print "UCI_SECTIONS=" shell(sections)
}
