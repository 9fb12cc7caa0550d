# SPDX-License-Identifier: GPL-2.0-or-later
# Composes a message from `fastpathctl journal --after CURSOR`. Variables: cursor; events: groups of
# events, none for all; format: json, ntfy, matrix or mail; host; to: of a mail; out: file of the
# message. Prints the id of the last event of the message, and the numbers of its events, of events
# that wait for the next message, and of lost events.

BEGIN {
	FS = "\t"
	MAX_EVENTS = 20
	# In bytes. ntfy refuses messages above 4096.
	MAX_TEXT = 3500
	# Ids of a run of the daemon have no gaps.
	RUN = 16777216
	GROUP["new-device"] = "device"
	GROUP["quota"] = "quota"
	GROUP["wan-up"] = GROUP["wan-down"] = "line"
	GROUP["rules"] = GROUP["update"] = "update"
	GROUP["alert"] = "alert"
	last = before = cursor
	number = waiting = lost = full = 0
}

NR == 1 { next }

{
	group = GROUP[$3]
	wanted = $3 == "test" || group != "" && (events == "" || index(" " events " ", " " group " "))
	text = wanted ? strftime("%Y-%m-%d %H:%M ", int($2 / 1000)) sentence($3, $4, $5) : ""
	full = full || number == MAX_EVENTS || number && length(texts text) > MAX_TEXT
	if (full) {
		waiting += wanted
		next
	}
	if (int(before / RUN) == int($1 / RUN))
		lost += $1 - before - 1
	else
		lost += $1 % RUN - 1
	last = before = $1
	if (!wanted)
		next
	texts = texts (number ? "\n" : "") text
	list = list (number ? "," : "") "{\"id\":" $1 ",\"at_ms\":" $2 ",\"kind\":" quoted($3) \
		",\"about\":" quoted($4) ",\"name\":" quoted($5) ",\"text\":" quoted(text) "}"
	number++
}

END {
	if (lost > 0)
		texts = sprintf("%.0f events were lost", lost) (number ? "\n" : "") texts
	printf "%s %d %d %.0f\n", last, number, waiting, lost
	if (format == "matrix")
		print "{\"msgtype\":\"m.text\",\"body\":" quoted(host ":\n" texts) "}" > out
	else if (format == "ntfy")
		print texts > out
	else if (format == "mail")
		printf "To: %s\nSubject: %s: %s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n" \
			"Content-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\n\n%s\n", to, host,
			number == 1 ? "1 event" : number " events", texts > out
	else
		printf "{\"host\":%s,\"lost\":%.0f,\"text\":%s,\"events\":[%s]}\n", quoted(host), lost,
			quoted(texts), list > out
}

function sentence(kind, about, name,    word, who, text) {
	split(about, word, " ")
	who = device(kind == "alert" ? word[2] : word[1], name)
	if (kind == "new-device")
		return "New device: " who
	if (kind == "quota")
		return who " used more than its quota of " word[2] " MB today"
	if (kind == "wan-up")
		return "The line " about " is up"
	if (kind == "wan-down")
		return "The line " about " is down"
	if (kind == "rules")
		return about == "failed" ? "The update of the rules failed" : "The rules were updated"
	if (kind == "update")
		return "fastpath was updated to " about
	if (kind == "alert") {
		text = about
		sub(/^[^ ]* [^ ]* [^ ]* /, "", text)
		return "Alert " word[1] ": " text (word[2] == "-" ? "" : ", " who) \
			(word[3] == 1 ? "" : ", " word[3] " times")
	}
	return "Test"
}

function device(mac, name) {
	return name == "" ? mac : name " (" mac ")"
}

# fastpathctl has escaped control characters.
function quoted(text) {
	text = replaced(replaced(replaced(text, "\\", "\\\\"), "\"", "\\\""), "\n", "\\n")
	return "\"" text "\""
}

# gsub treats backslashes differently in each awk.
function replaced(text, from, to,    at, out) {
	while ((at = index(text, from)) > 0) {
		out = out substr(text, 1, at - 1) to
		text = substr(text, at + 1)
	}
	return out text
}
