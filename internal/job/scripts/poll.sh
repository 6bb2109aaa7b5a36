# shellcheck shell=sh disable=SC2154,SC2034
# One look at the job: status, new bytes of its files, requests and, where it is
# asked for, disk, framed so that no content can be taken for a frame. A look
# starts as few programs as it can.

# ob_chunk NAME FILE AT MAX: "NAME at size length", then as many bytes and a line
# break. AT below zero counts from the end; past the end starts over, because
# the file was replaced.
ob_chunk() {
	ob_size=0
	if [ -f "$2" ]; then
		ob_size_of "$2"
		: "${ob_size:=0}"
	fi
	ob_at=$3
	if [ "$ob_at" -lt 0 ]; then
		ob_at=$((ob_size + ob_at))
		[ "$ob_at" -ge 0 ] || ob_at=0
	elif [ "$ob_at" -gt "$ob_size" ]; then
		ob_at=0
	fi
	ob_count=$((ob_size - ob_at))
	[ "$ob_count" -le "$4" ] || ob_count=$4
	printf '%s %s %s %s\n' "$1" "$ob_at" "$ob_size" "$ob_count"
	if [ "$ob_count" -gt 0 ] && [ "$ob_at" = 0 ]; then
		head -c "$ob_count" "$2" 2>/dev/null
	elif [ "$ob_count" -gt 0 ]; then
		dd if="$2" bs=65536 skip=$((ob_at / 65536)) count=$((ob_count / 65536 + 2)) 2>/dev/null |
			tail -c "+$((ob_at % 65536 + 1))" | head -c "$ob_count"
	fi
	printf '\n'
}

# ob_log_chunk: ob_chunk of the job's log, without a program for one that did not
# grow. The stamp is made just before its size is taken: while the stamp is newer,
# nothing was written since. A look at the disk does not rely on that, for clocks
# go back and logs are replaced.
ob_log_known=
ob_log_chunk() {
	ob_stamp=$ob_run/.pod/looked.$$
	# shellcheck disable=SC3013
	if [ "$ob_log_at" = "$ob_log_known" ] && [ "$ob_disk$ob_state" = 0running ] && [ "$ob_stamp" -nt "$ob_run/job.log" ]; then
		printf 'log %s %s 0\n\n' "$ob_log_at" "$ob_log_at"
		return
	fi
	{ printf '' >"$ob_stamp"; } 2>/dev/null
	ob_chunk log "$ob_run/job.log" "$ob_log_at" "$ob_log_max"
	ob_log_known=$ob_size
}

# ob_disk_lines: sets ob_df to "USED FREE" in KiB of the run's file system, or to
# nothing, and ob_shared to 1 where that is a server's.
ob_disk_lines() {
	ob_df=
	ob_shared=0
	ob_line=$(ob_bounded 5 "${OVERBRAINER_DF:-df}" -Pk "$ob_run" 2>/dev/null)
	# shellcheck disable=SC2086
	set -- ${ob_line##*"$ob_lines"}
	[ "$#" -ge 6 ] || return 0
	ob_number "$3" 0
	ob_df=$ob_n
	ob_number "$4" 0
	ob_df="$ob_df $ob_n"
	case $1 in
	*:* | //*) ob_shared=1 ;;
	esac
}

# ob_look: the lines are written at once, because each write is a packet.
ob_look() {
	ob_job_pid=
	ob_status || return 1
	set -- "overbrainer-poll 1" "state $ob_state"
	[ -z "$ob_job_pid" ] || set -- "$@" "pid $ob_job_pid"
	for ob_name in stage ended_by; do
		if [ -f "$ob_run/.pod/$ob_name" ]; then
			ob_word=
			{ read -r ob_word ob_rest || :; } 2>/dev/null <"$ob_run/.pod/$ob_name"
			case $ob_word in
			*[!a-z_]* | "") ;;
			*) set -- "$@" "$ob_name $ob_word" ;;
			esac
		fi
	done
	for ob_name in ended_at du; do
		ob_number_in "$ob_run/.pod/$ob_name" ""
		[ -z "$ob_n" ] || set -- "$@" "$ob_name $ob_n"
	done
	[ ! -e "$ob_run/snapshot.json" ] || set -- "$@" "proof 1"
	# A job that failed may have done so for want of room.
	case $ob_state in "exited "[1-9]*) ob_disk=1 ;; esac
	if [ "$ob_disk" = 1 ] && [ -d "$ob_run" ]; then
		ob_disk_lines
		[ -z "$ob_df" ] || set -- "$@" "df $ob_df"
		[ "$ob_shared" = 0 ] || set -- "$@" "shared 1"
	fi
	printf '%s\n' "$@"
	if [ -f "$ob_run/snapshot.request" ]; then
		ob_chunk request "$ob_run/snapshot.request" 0 1024
	fi
	ob_log_chunk
	if [ -n "$ob_metrics" ]; then
		ob_chunk metrics "$ob_run/$ob_metrics" "$ob_metrics_at" "$ob_metrics_max"
	fi
	printf 'end\n'
}
