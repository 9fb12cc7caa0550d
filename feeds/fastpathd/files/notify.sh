#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# notify.sh RUN STORE: tells the receivers in RUN/receivers of events in the journal, by curl or
# sendmail. Each receiver has a process and a cursor of its own, so that a dead one does not delay
# others; without news, only the main process asks the daemon. RUN/state has cursors and states,
# STORE has copies of the cursors on flash. The init script writes RUN/receivers.
# shellcheck disable=SC3043 # BusyBox has `local`

RUN=$1
STORE=$2
STATE=$RUN/state
AWK=${0%.sh}.awk
# In seconds.
INTERVAL=3
MIN_PAUSE=5
MAX_PAUSE=600
SAVE_INTERVAL=600
# Larger than any id.
MAX_ID=9007199254740991
TAB="$(printf '\t')"
export LC_ALL=C
umask 027

# receive: runs the process of a receiver, whose options are variables. In a subshell, $$ is the
# main process.
receive() {
	# After a crash, the process of the last run may still be sending.
	exec 9> "$STATE/$name.lock"
	flock 9
	cursor='' delivered_ms=0 lost=0 pending=0 error='' error_ms=0 tested_ms=0 test=''
	shown='' saved='' unsaved=0 pause=0 left=0 journal=''
	if [ -s "$STATE/$name.cursor" ]; then
		read -r cursor delivered_ms lost < "$STATE/$name.cursor"
	elif [ -s "$STORE/$name.cursor" ]; then
		read -r cursor delivered_ms lost < "$STORE/$name.cursor"
	fi
	trap 'save; exit 0' TERM
	while kill -0 $$ 2> /dev/null; do
		if [ -e "$STATE/$name.test" ]; then
			rm -f "$STATE/$name.test"
			try_test
		fi
		if [ "$left" -le 0 ] && has_news; then step; fi
		show
		[ "$unsaved" -lt "$SAVE_INTERVAL" ] || save
		sleep "$INTERVAL" 9>&- &
		wait $!
		left=$((left - INTERVAL)) unsaved=$((unsaved + INTERVAL))
	done
}

# has_news: succeeds if the journal has changed since the last step, or that step failed.
has_news() {
	local now=''
	read -r now 2> /dev/null < "$STATE/journal"
	[ "$now" != "$journal" ] || [ -n "$error" ] || return 1
	journal=$now
}

# step: sends what the journal has since the cursor.
step() {
	while :; do
		if ! fastpathctl journal --after "${cursor:-0}" --limit 500 > "$STATE/$name.events" \
			2> /dev/null; then
			fails daemon
			return
		fi
		IFS="$TAB" read -r last history < "$STATE/$name.events"
		# The daemon has not read its files yet.
		[ "$last" -gt 0 ] || return 0
		if [ "$history" = off ]; then
			fails history
			return
		fi
		# A new receiver begins now, and so does one whose events were deleted.
		if [ -z "$cursor" ] || [ "$last" -lt "$cursor" ]; then
			moved "$last"
			continue
		fi
		# shellcheck disable=SC2046 # four words
		set -- $(compose)
		[ $# = 4 ] || return 0
		pending=$(($2 + $3))
		if [ "$2" -gt 0 ] || [ "$4" -gt 0 ]; then
			show
			send "$1" || {
				fails "$why"
				return
			}
			delivered_ms="$(date +%s)000" lost=$((lost + $4))
		fi
		pending=$3 pause=0 error='' error_ms=0
		[ "$1" = "$cursor" ] || moved "$1"
		[ "$pending" -gt 0 ] || return 0
	done
}

try_test() {
	printf 'test\n0\t%s000\ttest\t\t\n' "$(date +%s)" > "$STATE/$name.events"
	(cursor=-1 compose > /dev/null)
	tested_ms="$(date +%s)000" test=ok
	if send "test$tested_ms"; then left=0; else test=$why; fi
}

fails() {
	error=$1 error_ms="$(date +%s)000"
	pause=$((pause * 2))
	[ "$pause" -ge "$MIN_PAUSE" ] || pause=$MIN_PAUSE
	[ "$pause" -le "$MAX_PAUSE" ] || pause=$MAX_PAUSE
	left=$pause
}

compose() {
	awk -v cursor="$cursor" -v events="$event" -v format="${mail:+mail}${url:+$format}" -v to="$mail" \
		-v host="$(uname -n)" -v out="$STATE/$name.message" -f "$AWK" "$STATE/$name.events"
}

# send ID: sends the message; sets `why` if that fails.
send() {
	if [ -n "$mail" ]; then
		send_mail
	else
		post "$1"
	fi
}

send_mail() {
	why=mail
	case "$mail" in -* | *[!!-~]* | *[,\;\<\>]* | '') return 1 ;; ?*@?*) ;; *) return 1 ;; esac
	why=sendmail
	command -v sendmail > /dev/null || return 1
	sendmail -oi "$mail" < "$STATE/$name.message" > /dev/null 2>&1 9>&- &
	child=$!
	# OpenWrt's BusyBox has no timeout.
	(sleep 60 && kill "$child") > /dev/null 2>&1 9>&- &
	guard=$!
	wait "$child"
	why="sendmail $?"
	kill "$guard" 2> /dev/null
	[ "$why" = "sendmail 0" ]
}

post() {
	local code status
	why=url
	case "$url" in *[!!-~]* | *[\"\\]*) return 1 ;; http://?* | https://?*) ;; *) return 1 ;; esac
	why=token
	case "$token$ca" in *[!!-~]* | *[\"\\]*) return 1 ;; esac
	code="$(options "$1" | curl -q -K - 2> /dev/null)"
	status=$?
	case "$status $code" in
	"0 2"??) return 0 ;;
	0\ *) why="http $code" ;;
	6\ *) why=resolve ;;
	7\ *) why=connect ;;
	28\ *) why=timeout ;;
	35\ * | 51\ * | 60\ * | 77\ *) why=tls ;;
	127\ *) why=curl ;;
	*) why="curl $status" ;;
	esac
	return 1
}

# options ID: prints curl's options. Not arguments, because every user may read those of a process.
options() {
	local type=application/json
	cat <<- END
		silent
		proto = "=http,https"
		connect-timeout = 10
		max-time = 30
		output = "/dev/null"
		write-out = "%{http_code}"
		user-agent = "fastpath"
		data-binary = "@$STATE/$name.message"
	END
	[ -z "$ca" ] || printf 'cacert = "%s"\n' "$ca"
	[ -z "$token" ] || printf 'header = "Authorization: Bearer %s"\n' "$token"
	case "$format" in
	ntfy)
		type="text/plain; charset=utf-8"
		printf 'header = "Title: %s"\nurl = "%s"\n' "$(uname -n)" "$url"
		;;
	# The transaction's id makes a repeated request harmless.
	matrix) printf 'request = "PUT"\nurl = "%s/%s"\n' "$url" "fastpath$1" ;;
	*) printf 'url = "%s"\n' "$url" ;;
	esac
	printf 'header = "Content-Type: %s"\n' "$type"
}

# moved ID: stores the cursor.
moved() {
	cursor=$1
	echo "$cursor $delivered_ms $lost" > "$STATE/$name.new"
	mv -f "$STATE/$name.new" "$STATE/$name.cursor"
}

save() {
	unsaved=0
	[ "$cursor" != "$saved" ] || return 0
	cp -f "$STATE/$name.cursor" "$STORE/$name.new" && mv -f "$STORE/$name.new" "$STORE/$name.cursor" &&
		saved=$cursor
}

show() {
	local now
	now="{\"name\":\"$name\",\"pending\":$pending,\"lost\":$lost,\"delivered_ms\":$delivered_ms"
	now="$now,\"error\":\"$error\",\"error_ms\":$error_ms,\"tested_ms\":$tested_ms,\"test\":\"$test\"}"
	[ "$now" != "$shown" ] || return 0
	shown=$now
	echo "$now" > "$STATE/$name.new"
	mv -f "$STATE/$name.new" "$STATE/$name.json"
}

start() {
	case "$name" in '' | *[!A-Za-z0-9_-]*) return 0 ;; esac
	receive &
	children="$children $!"
}

# look: stores the newest id of the journal, and whether it is on, for the receivers.
look() {
	local now
	now="$(fastpathctl journal --after "$MAX_ID" --limit 1 2> /dev/null)" || now=failed
	[ "$now" != "$looked" ] || return 0
	looked=$now
	echo "$now" > "$STATE/journal.new"
	mv -f "$STATE/journal.new" "$STATE/journal"
}

children='' name='' looked=''
rm -f "$STATE"/*.json "$STATE/journal"
# A new receiver begins with the newest event, so it must know it at once.
look
while read -r option value; do
	case "$option" in
	receiver)
		start
		name=$value url='' mail='' format=json token='' ca='' event=''
		;;
	url) url=$value ;;
	mail) mail=$value ;;
	format) format=$value ;;
	token) token=$value ;;
	ca) ca=$value ;;
	event) event=$value ;;
	esac
done < "$RUN/receivers"
start

# shellcheck disable=SC2086 # a word per process
end() {
	trap '' TERM
	kill $children 2> /dev/null
	wait
	exit "$1"
}

trap 'end 0' TERM
while :; do
	look
	# If a process was killed, procd starts all of them again.
	for child in $children; do
		kill -0 "$child" 2> /dev/null || end 1
	done
	sleep "$INTERVAL" &
	wait $!
done
