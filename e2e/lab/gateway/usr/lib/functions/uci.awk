# SPDX-License-Identifier: GPL-2.0-or-later
# Prints a UCI file as shell assignments. Needs words.awk.

# refill(): reads the next line into `rest`.
function refill() {
    if ((getline rest) > 0) return 1
    rest = ""
    return 0
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
