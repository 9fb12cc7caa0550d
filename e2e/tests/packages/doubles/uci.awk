# SPDX-License-Identifier: GPL-2.0-or-later
# Command line of uci, for tests. Uncommitted changes are staged as complete files in /tmp/.uci.
# Values have one line; unnamed sections are called cfgNN by their position.

function fail(why) {
    if (!quiet) print "uci: " why > "/dev/stderr"
    failed = 1
}

function exists(file,   line, is) {
    is = (getline line < file) >= 0
    close(file)
    return is
}

# Removes the first word from `rest` and returns it without quotes.
function word(   first, end) {
    sub(/^[ \t]+/, "", rest)
    first = substr(rest, 1, 1)
    if (first == "'" || first == "\"") {
        end = index(substr(rest, 2), first)
        first = substr(rest, 2, end - 1)
        rest = substr(rest, end + 2)
        return first
    }
    match(rest, /^[^ \t]*/)
    first = substr(rest, 1, RLENGTH)
    rest = substr(rest, RLENGTH + 1)
    return first
}

function new_section(p, name, kind) {
    count[p]++
    if (name == "") {
        name = sprintf("cfg%02x0000", count[p])
        unnamed[p, name] = 1
    }
    order[p, count[p]] = name
    type[p, name] = kind
    return name
}

function new_option(p, s, o) {
    if ((p, s, o) in kind_of) return
    options[p, s] = options[p, s] " " o
}

function put(p, s, o, v) {
    new_option(p, s, o)
    kind_of[p, s, o] = "option"
    values[p, s, o] = 1
    value[p, s, o, 1] = v
}

function append(p, s, o, v) {
    new_option(p, s, o)
    kind_of[p, s, o] = "list"
    value[p, s, o, ++values[p, s, o]] = v
}

function load(p,   file, line, s, o, first) {
    if (p in loaded) return loaded[p]
    file = "/tmp/.uci/" p
    if (!exists(file)) file = "/etc/config/" p
    loaded[p] = exists(file)
    while ((getline line < file) > 0) {
        rest = line
        first = word()
        if (first == "config") {
            o = word()
            s = new_section(p, word(), o)
        } else if (first == "option" || first == "list") {
            o = word()
            if (o == "") fail("Parse error (" line ") in " file)
            else if (first == "list") append(p, s, o, word())
            else put(p, s, o, word())
        } else if (first != "" && first !~ /^#/) fail("Parse error (" line ") in " file)
    }
    close(file)
    return loaded[p]
}

# Returns the name of section @TYPE[N], or "" if there is none.
function resolve(p, s,   kind, n, i, found) {
    if (s !~ /^@/) return s
    kind = s
    sub(/^@/, "", kind)
    n = kind
    sub(/\[.*/, "", kind)
    gsub(/.*\[|\].*/, "", n)
    for (i = 1; i <= count[p]; i++)
        if (type[p, order[p, i]] == kind) found[++found[0]] = order[p, i]
    n = n < 0 ? found[0] + n + 1 : n + 1
    return n in found && n > 0 ? found[n] : ""
}

# Splits PACKAGE.SECTION.OPTION=VALUE. Returns false for an unknown package.
function parse(text,   parts, n, key) {
    key = text
    given = index(text, "=") > 0
    if (given) {
        key = substr(text, 1, index(text, "=") - 1)
        v = substr(text, index(text, "=") + 1)
    }
    n = split(key, parts, ".")
    p = parts[1]
    if (!load(p)) { fail("Entry not found"); return 0 }
    s = n > 1 ? resolve(p, parts[2]) : ""
    o = n > 2 ? parts[3] : ""
    if (n > 1 && s == "") { fail("Entry not found"); return 0 }
    return 1
}

function known(   is) {
    is = s == "" || (o == "" ? (p, s) in type : (p, s, o) in kind_of)
    if (!is) fail("Entry not found")
    return is
}

function list_of(p, s, o, quote,   text, i) {
    for (i = 1; i <= values[p, s, o]; i++)
        text = text (i > 1 ? " " : "") quote value[p, s, o, i] quote
    return text
}

function get() {
    if (!parse(arg) || !known()) return
    print o == "" ? type[p, s] : list_of(p, s, o, "")
}

function shown(s,   i, n) {
    if (cryptic || !((p, s) in unnamed)) return s
    for (i = 1; order[p, i] != s; i++)
        if (type[p, order[p, i]] == type[p, s]) n++
    return "@" type[p, s] "[" n + 0 "]"
}

function show_section(s,   n, names, i) {
    if (o == "") print p "." shown(s) "=" type[p, s]
    n = split(options[p, s], names, " ")
    for (i = 1; i <= n; i++)
        if (o == "" || names[i] == o)
            print p "." shown(s) "." names[i] "=" list_of(p, s, names[i], "'")
}

function show(   i) {
    if (!parse(arg) || !known()) return
    if (s != "") show_section(s)
    else for (i = 1; i <= count[p]; i++) show_section(order[p, i])
}

function set() {
    if (!parse(arg)) return
    if (o == "" && !((p, s) in type)) new_section(p, s, v)
    else if (o == "") type[p, s] = v
    else if (!((p, s) in type)) { fail("Invalid argument"); return }
    else if (v == "") { if ((p, s, o) in kind_of) remove_option(); return }
    else put(p, s, o, v)
    dirty[p] = 1
}

function add_list() {
    if (!parse(arg)) return
    if (!((p, s) in type)) { fail("Invalid argument"); return }
    append(p, s, o, v)
    dirty[p] = 1
}

function del_list(   i, kept) {
    if (!parse(arg) || !known()) return
    for (i = 1; i <= values[p, s, o]; i++)
        if (value[p, s, o, i] != v) value[p, s, o, ++kept] = value[p, s, o, i]
    values[p, s, o] = kept
    if (!kept) remove_option()
    dirty[p] = 1
}

function remove_option() {
    sub(" " o "( |$)", " ", options[p, s])
    sub(/ $/, "", options[p, s])
    delete kind_of[p, s, o]
    values[p, s, o] = 0
    dirty[p] = 1
}

function remove(   i, n, names) {
    if (!parse(arg) || !known()) return
    dirty[p] = 1
    if (o != "") { remove_option(); return }
    n = split(options[p, s], names, " ")
    for (i = 1; i <= n; i++) { o = names[i]; remove_option() }
    for (i = 1; order[p, i] != s; i++);
    for (; i < count[p]; i++) order[p, i] = order[p, i + 1]
    count[p]--
    delete type[p, s]
    delete options[p, s]
}

function add() {
    if (!load(arg)) { fail("Entry not found"); return }
    p = arg
    print new_section(p, "", arg2)
    dirty[p] = 1
}

function write_file(p, file,   i, s, n, names, j, k) {
    printf "" > file
    for (i = 1; i <= count[p]; i++) {
        s = order[p, i]
        printf "\nconfig %s%s\n", type[p, s], (p, s) in unnamed ? "" : " '" s "'" > file
        n = split(options[p, s], names, " ")
        for (j = 1; j <= n; j++)
            for (k = 1; k <= values[p, s, names[j]]; k++)
                printf "\t%s %s '%s'\n", kind_of[p, s, names[j]], names[j],
                    value[p, s, names[j], k] > file
    }
    printf "\n" > file
    close(file)
}

function stage(p) {
    system("mkdir -p /tmp/.uci")
    write_file(p, "/tmp/.uci/" p)
    delete dirty[p]
}

function commit(p) {
    if (p in dirty) stage(p)
    system("[ ! -e /tmp/.uci/" p " ] || mv /tmp/.uci/" p " /etc/config/" p)
}

function commit_all(   p, file) {
    for (p in dirty) commit(p)
    while (("ls /tmp/.uci 2>/dev/null" | getline file) > 0) commit(file)
}

function changes() { system("[ ! -e /tmp/.uci/" arg " ] || echo " arg) }

function revert() {
    system("rm -f /tmp/.uci/" arg)
    delete dirty[arg]
}

function carry_out(verb) {
    if (verb == "get") get()
    else if (verb == "show") show()
    else if (verb == "set") set()
    else if (verb == "add") add()
    else if (verb == "add_list") add_list()
    else if (verb == "del_list") del_list()
    else if (verb == "delete") remove()
    else if (verb == "commit") { if (arg == "") commit_all(); else commit(arg) }
    else if (verb == "changes") changes()
    else if (verb == "revert") revert()
    else fail("the tests' uci does not know: " verb)
}

# Returns the next word, which may contain quotes: set a.b.c='d e'.
function batch_word(   text, first, end) {
    sub(/^[ \t]+/, "", rest)
    while (rest != "" && rest !~ /^[ \t]/) {
        first = substr(rest, 1, 1)
        if (first == "'" || first == "\"") {
            end = index(substr(rest, 2), first)
            text = text substr(rest, 2, end - 1)
            rest = substr(rest, end + 2)
        } else {
            text = text first
            rest = substr(rest, 2)
        }
    }
    return text
}

BEGIN {
    for (i = 1; ARGV[i] ~ /^-/; i++) {
        if (ARGV[i] == "-q") quiet = 1
        else if (ARGV[i] == "-X") cryptic = 1
        else if (ARGV[i] != "--") fail("the tests' uci does not know: " ARGV[i])
    }
    arg = ARGV[i + 1]
    arg2 = ARGV[i + 2]
    # Keep awk from reading the arguments as files.
    ARGC = 1
    if (ARGV[i] != "batch") {
        carry_out(ARGV[i])
        exit
    }
}

{
    rest = $0
    verb = batch_word()
    arg = batch_word()
    arg2 = batch_word()
    if (verb != "" && verb !~ /^#/) carry_out(verb)
}

END {
    for (p in dirty) stage(p)
    exit failed
}
