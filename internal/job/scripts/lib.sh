# shellcheck shell=sh disable=SC2154,SC2034
# Shared by everything that runs on a pod. POSIX sh; works under bash, dash and
# busybox. Its variables begin with ob_ because the job's own environment lives
# in the same shell while a job is being launched.

ob_lines='
'

# ob_number TEXT DEFAULT: sets ob_n to TEXT without leading zeros when it is 1 to
# 15 digits, else to DEFAULT. Nothing else ever reaches arithmetic.
ob_number() {
	ob_n=${2:-}
	case ${1:-x} in
	*[!0-9]* | ????????????????*) return 0 ;;
	esac
	ob_n=$1
	while :; do
		case $ob_n in
		0?*) ob_n=${ob_n#0} ;;
		*) break ;;
		esac
	done
}

# ob_number_in FILE DEFAULT: the same for a file's only line.
ob_number_in() {
	ob_text=
	if [ -f "$1" ]; then
		{ read -r ob_text || :; } 2>/dev/null <"$1"
	fi
	ob_number "$ob_text" "${2:-}"
}

# ob_write FILE TEXT: replaces FILE by one line, through a rename.
ob_write() {
	{ printf '%s\n' "$2" >"$1.$$.tmp" && mv -f "$1.$$.tmp" "$1"; } 2>/dev/null
}

# ob_clock FORMAT: sets ob_now to the time in UTC, by a format of date. bash knows
# it without a program, from version 4.2 on.
ob_clock() {
	if [ -n "${BASH_VERSION:-}" ]; then
		# shellcheck disable=SC3045
		TZ=UTC0 printf -v ob_now "%($1)T" -1 2>/dev/null && return 0
	fi
	ob_now=$(date -u "+$1")
}

# ob_remove FILE...: removes those that are there.
ob_remove() {
	for ob_one in "$@"; do
		if [ -e "$ob_one" ] || [ -h "$ob_one" ]; then
			rm -f "$@"
			return
		fi
	done
}

# ob_mtime FILE: seconds since 1970, or nothing.
ob_mtime() {
	[ -e "$1" ] || return 0
	stat -c %Y "$1" 2>/dev/null || date -r "$1" +%s 2>/dev/null || :
}

# ob_size_of FILE: sets ob_size to its size. wc is the second choice, because
# busybox's reads what it counts.
ob_size_of() {
	ob_size=$(stat -L -c %s "$1" 2>/dev/null) || ob_size=$(wc -c 2>/dev/null <"$1")
	ob_number "${ob_size##* }" ""
	ob_size=$ob_n
}

# ob_bounded SECONDS COMMAND...: under timeout where there is one.
ob_bounded() {
	ob_limit=$1
	shift
	if command -v timeout >/dev/null 2>&1; then
		timeout -k 5 "$ob_limit" "$@"
	else
		"$@"
	fi
}

# ob_stat PID: reads /proc. Fails when there is no such process.
ob_stat() {
	ob_line=
	{ while read -r ob_part; do ob_line="$ob_line $ob_part"; done <"/proc/$1/stat"; } 2>/dev/null || return 1
	[ -n "$ob_line" ] || return 1
	# The name in parentheses may hold anything, so count from the last one.
	# shellcheck disable=SC2086
	set -- ${ob_line##*) }
	[ "$#" -ge 20 ] || return 1
	ob_proc_state=$1
	shift 19
	ob_proc_start=$1
}

# ob_signal SIGNAL PID: signals the process group of PID. dash wants the end of
# options before a negative number, busybox refuses it.
ob_signal() {
	case ${2:-x} in
	*[!0-9]* | 0 | 1) return 1 ;;
	esac
	kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" "-$2" 2>/dev/null
}

# ob_alive PID START: whether the job's group still has a living process. START
# is the leader's start time when it was recorded: another process that got the
# same number later has another one.
ob_alive() {
	ob_signal 0 "$1" || return 1
	ob_stat "$1" || return 0
	if [ -n "${2:-}" ] && [ "$2" != "$ob_proc_start" ]; then
		return 1
	fi
	[ "$ob_proc_state" = Z ] || return 0
	# The leader waits for somebody to collect it; what matters is the others.
	ob_processes | grep -v '^[0-9]* Z' | grep -q "^[0-9]* [A-Za-z] $1 "
}

# ob_processes: a line "pid state group session" for each process.
ob_processes() {
	cat /proc/[0-9]*/stat 2>/dev/null |
		LC_ALL=C sed -n 's/^\([0-9]*\) (.*) \([A-Za-z]\) [0-9]* \([0-9]*\) \([0-9]*\) .*/\1 \2 \3 \4 /p'
}

# ob_pid: reads job.pid into ob_job_pid and ob_job_start. 1 = no such file, 2 =
# not a process number that may be signalled.
ob_pid() {
	ob_job_pid=
	ob_job_start=
	[ -f "$ob_run/job.pid" ] || return 1
	{ read -r ob_job_pid ob_job_start || :; } 2>/dev/null <"$ob_run/job.pid"
	ob_number "$ob_job_start" ""
	ob_job_start=$ob_n
	ob_number "$ob_job_pid" 0
	ob_job_pid=$ob_n
	[ "$ob_job_pid" -gt 1 ] || return 2
}

# ob_snapshot_signal: tells the job of a request by the signal it asked for.
# Only processes of the job that catch the signal get it: it would kill the
# others.
ob_snapshot_signal() {
	[ -f "$ob_run/.pod/signal" ] || return 0
	ob_pid || return 0
	{ read -r ob_name ob_bit || :; } 2>/dev/null <"$ob_run/.pod/signal"
	ob_number "$ob_bit" 0
	ob_bit=$ob_n
	case $ob_name in
	HUP | INT | QUIT | USR1 | USR2 | TERM) ;;
	*) return 0 ;;
	esac
	[ "$ob_bit" -ge 1 ] || return 0
	[ "$ob_bit" -le 31 ] || return 0
	ob_alive "$ob_job_pid" "$ob_job_start" || return 0
	for ob_one in $(ob_processes | grep " $ob_job_pid \$" | sed 's/ .*//'); do
		[ "$ob_one" != "$ob_job_pid" ] || continue
		ob_mask=
		while read -r ob_key ob_value; do
			if [ "$ob_key" = SigCgt: ]; then
				ob_mask=$ob_value
			fi
		done 2>/dev/null <"/proc/$ob_one/status"
		case $ob_mask in
		*[!0-9a-f]* | "" | ???????) continue ;;
		esac
		while [ "${#ob_mask}" -gt 8 ]; do ob_mask=${ob_mask#?}; done
		if [ $(((0x$ob_mask >> (ob_bit - 1)) & 1)) = 1 ]; then
			kill -s "$ob_name" "$ob_one" 2>/dev/null || :
		fi
	done
	return 0
}

# ob_claim DIR OWNER: 0 = made now or already ours, 2 = somebody else's, 1 =
# cannot. A hard link appears whole or not at all; where there are none, an
# exclusive create does.
ob_claim() {
	[ -d "$1" ] || mkdir -p "$1" 2>/dev/null || return 1
	if [ ! -e "$1/.claim" ]; then
		ob_mine=$1/.claim.$$.tmp
		{ printf '%s\n' "$2" >"$ob_mine"; } 2>/dev/null || return 1
		if ! ln "$ob_mine" "$1/.claim" 2>/dev/null && [ ! -e "$1/.claim" ]; then
			(
				set -C
				printf '%s\n' "$2" >"$1/.claim"
			) 2>/dev/null || :
		fi
		rm -f "$ob_mine"
	fi
	[ -f "$1/.claim" ] || return 1
	ob_owner=
	{ IFS= read -r ob_owner || :; } 2>/dev/null <"$1/.claim"
	[ "$ob_owner" = "$2" ] || return 2
}

# ob_decode: base64 on standard input to bytes on standard output, as the last
# process of a pipeline.
ob_decode() {
	if command -v base64 >/dev/null 2>&1; then
		exec base64 -d
	elif command -v openssl >/dev/null 2>&1; then
		exec openssl base64 -d -A
	else
		exec python3 -c 'import base64,sys; sys.stdout.buffer.write(base64.b64decode(sys.stdin.buffer.read()))'
	fi
}
