# SPDX-License-Identifier: GPL-2.0-or-later
# Words of UCI files, as libuci reads them: quoted by ' or ", or neither with \ before a character;
# parts without a space between them are one word, and a quoted one goes on in the next line, which
# refill() brings. `quote` is a single quote, passed in. A quote that never ends sets `unreadable`.

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
            if (!refill()) {
                unreadable = 1
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
