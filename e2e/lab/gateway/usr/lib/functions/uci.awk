# SPDX-License-Identifier: GPL-2.0-or-later
# A UCI file as shell assignments. `quote` is a single quote, passed in. Words are as libuci reads
# them: quoted by ' or ", or neither with \ before a character; parts without a space between them
# are one word, and a quoted one goes on in the next line.

# take(): the next word of `rest`, which it shortens; the flag `found` says whether there was one.
function take(    word, c) {
    sub(/^[ \t]+/, "", rest)
    found = rest != "" && substr(rest, 1, 1) != "#"
    word = ""
    while (rest != "") {
        c = substr(rest, 1, 1)
        if (c == " " || c == "\t" || (c == "#" && word == "")) break
        rest = substr(rest, 2)
        if (c == quote || c == "\"") word = word quoted(c)
        else if (c == "\\") {
            word = word substr(rest, 1, 1)
            rest = substr(rest, 2)
        } else word = word c
    }
    return word
}

# quoted(END): up to the quote END, over as many lines as it takes.
function quoted(end,    text, c) {
    text = ""
    for (;;) {
        while (rest == "") {
            text = text "\n"
            if ((getline rest) <= 0) {
                rest = ""
                return text
            }
        }
        c = substr(rest, 1, 1)
        rest = substr(rest, 2)
        if (c == end) return text
        if (c == "\\" && end == "\"") {
            c = substr(rest, 1, 1)
            rest = substr(rest, 2)
        }
        text = text c
    }
}

function shell(text) {
    gsub(quote, quote "\\" quote quote, text)
    return quote text quote
}

function name(text) {
    gsub(/[^A-Za-z0-9_]/, "_", text)
    return text
}

function finish(    option) {
    if (section == "") return
    for (option in options)
        print "UCI_" section "_" option "=" shell(options[option])
    delete options
}

{
    rest = $0
    keyword = take()
}

keyword == "config" {
    finish()
    type = take()
    section = take()
    section = section != "" ? name(section) : sprintf("cfg%02d", count)
    count++
    sections = sections " " section
    options["TYPE"] = type
}

keyword == "option" || keyword == "list" {
    key = name(take())
    value = take()
    if (keyword == "list" && key in options) value = options[key] " " value
    options[key] = value
}

END {
    finish()
    print "UCI_SECTIONS=" shell(sections)
}
