# SPDX-License-Identifier: GPL-2.0-or-later
# Splits UCI files into words like libuci: quoted by ' or ", or unquoted with the escape \. Adjacent
# parts form one word; quoted text may span lines, which refill() reads. `quote` is a single quote.
# An unterminated quote sets `unreadable`.

# take(): removes the next word from `rest` and returns it; sets `found`.
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

# quoted(END): returns the text up to the quote END, across lines.
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
