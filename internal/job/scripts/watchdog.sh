# shellcheck shell=sh disable=SC2154,SC2034
# The guard of a pod: its main process for as long as it lives. It ends the pod
# when the job's time, money or purpose is over, whether or not a client is
# there. The functions provider_probe and provider_delete stand before it.
set -u
umask 077
trap '' PIPE

ob_root=${OVERBRAINER_POD_ROOT:-}
ob_run=${ob_watch_dir:-$ob_root${OVERBRAINER_RUN_DIR:?}}
pod=$ob_run/.pod
[ -d "$pod" ] || mkdir -p "$pod" 2>/dev/null

ob_number "${OVERBRAINER_INTERVAL:-}" 60
interval=$ob_n
[ "$interval" -ge 1 ] || interval=1
ob_number "${OVERBRAINER_PROBE_LIMIT:-}" 165
probe_limit=$ob_n
ob_number "${OVERBRAINER_PROBE_WAIT:-}" 10
probe_wait=$ob_n
ob_number "${OVERBRAINER_BOOT_GRACE:-}" 1800
boot_grace=$ob_n
ob_number "${OVERBRAINER_RETRIEVE_GRACE:-}" 3600
retrieve_grace=$ob_n
ob_number "${OVERBRAINER_LEASE_TTL:-}" 900
lease_ttl=$ob_n
ob_number "${OVERBRAINER_SNAPSHOT_LEAD:-}" 900
snapshot_lead=$ob_n
ob_number "${OVERBRAINER_SNAPSHOT_WAIT:-}" 900
snapshot_wait=$ob_n
ob_number "${OVERBRAINER_SEEN_WAIT:-}" 180
seen_wait=$ob_n
ob_number "${OVERBRAINER_OVERRUN:-}" 0
overrun=$ob_n
ob_number "${OVERBRAINER_DU_EVERY:-}" 60
du_every=$ob_n
ob_number "${OVERBRAINER_DEADLINE:-}" ""
deadline=$ob_n
boot_failed=${OVERBRAINER_BOOT_FAILED:-0}
case ${OVERBRAINER_KEEP_POD_SECONDS:-0} in
-1) keep=-1 ;;
*)
	ob_number "${OVERBRAINER_KEEP_POD_SECONDS:-}" 0
	keep=$ob_n
	;;
esac

now() {
	ob_clock %s
	printf '%s' "$ob_now"
}

log() {
	ob_clock %Y-%m-%dT%H:%M:%SZ
	ob_text="$ob_now watchdog: $1"
	printf '%s\n' "$ob_text"
	{ printf '%s\n' "$ob_text" >>"$pod/watchdog.log"; } 2>/dev/null
}

# pause SECONDS: a sleep that TERM can interrupt.
sleeper=
pause() {
	sleep "$1" &
	sleeper=$!
	wait "$sleeper"
	sleeper=
}

# earlier VALUE FILE: sets ob_n to the smaller of an environment value and a
# file's, so that a file can only tighten what came with the pod.
earlier() {
	ob_number "$1" ""
	ob_a=$ob_n
	ob_number_in "$2" ""
	ob_b=$ob_n
	if [ -z "$ob_a" ] || { [ -n "$ob_b" ] && [ "$ob_b" -lt "$ob_a" ]; }; then
		ob_n=$ob_b
	else
		ob_n=$ob_a
	fi
}

count_gpus() {
	command -v nvidia-smi >/dev/null 2>&1 || return 0
	ob_list=$(ob_bounded 20 nvidia-smi -L 2>/dev/null)
	# 124 and 137: it hung, which says nothing about how many there are.
	case $? in 124 | 137) return 0 ;; esac
	ob_gpus=0
	while read -r ob_word ob_rest; do
		[ "$ob_word" != GPU ] || ob_gpus=$((ob_gpus + 1))
	done <<LIST
$ob_list
LIST
	printf ' gpus=%s' "$ob_gpus"
}

verdict() {
	probe_until=$(($(now) + probe_limit))
	told_cut=0
	while :; do
		word=$(provider_probe 2>/dev/null)
		case $word in
		unreachable | http_408 | http_429 | http_5[0-9][0-9])
			[ "$(now)" -lt "$probe_until" ] || break
			[ "$told_cut" = 1 ] || log "the provider's API does not answer this pod yet ($word)"
			told_cut=1
			pause "$probe_wait"
			;;
		*) break ;;
		esac
	done
	case $word in
	*[!a-z0-9_]* | "") word=unreadable ;;
	esac
	if [ "$boot_failed" = 1 ]; then
		word="failed bootstrap: ${OVERBRAINER_BOOT_REASON:-unknown}"
	elif [ "$word" = ready ]; then
		word=ready$(count_gpus)
	else
		word="failed $word"
	fi
	log "probe $word"
	ob_write "$pod/watchdog" "$word" || log "the verdict cannot be written"
	printf 'overbrainer-verdict %s\n' "$word"
}

# request REASON: asks the job for a snapshot, unless somebody did already.
asked_at=
told_asked=0
request() {
	asked_at=$n
	if [ -e "$ob_run/snapshot.request" ]; then
		[ "$told_asked" = 1 ] || log "snapshot already requested"
		told_asked=1
		return 0
	fi
	if ob_write "$ob_run/snapshot.request" "$1"; then
		log "snapshot requested reason=$1"
		ob_snapshot_signal
	else
		log "snapshot.request cannot be written"
	fi
}

# measure: the size of the volume's files, in the background, so that a hanging
# file system cannot hold up the loop.
measure() {
	ob_number "$(ob_mtime "$pod/du.running")" ""
	ob_age=$ob_n
	if [ -n "$ob_age" ] && [ $((n - ob_age)) -lt "$du_every" ]; then
		return 0
	fi
	# Not by ":", after which a shell ends when the file cannot be written.
	{ printf '' >"$pod/du.running"; } 2>/dev/null || return 0
	(
		ob_kib=$(ob_bounded 30 "${OVERBRAINER_DU:-du}" -sk "$ob_root$OVERBRAINER_VOLUME_DIR" 2>/dev/null | {
			read -r ob_first ob_rest || :
			ob_number "${ob_first:-}" ""
			printf '%s' "$ob_n"
		})
		[ -z "$ob_kib" ] || ob_write "$pod/du" "$ob_kib"
		rm -f "$pod/du.running"
	) </dev/null >/dev/null 2>&1 &
}

disk_full() {
	if [ -n "${OVERBRAINER_VOLUME_DIR:-}" ]; then
		ob_number_in "$pod/volume_gb" ""
		ob_gb=$ob_n
		if [ -z "$ob_gb" ]; then
			ob_number "${OVERBRAINER_VOLUME_GB:-}" ""
			ob_gb=$ob_n
		fi
		[ -n "$ob_gb" ] && [ "$ob_gb" -gt 0 ] && [ "$ob_gb" -lt 1000000 ] || return 1
		measure
		ob_number_in "$pod/du" ""
		ob_used=$ob_n
		# A volume refuses writes at about 94 % of its nominal size.
		# shellcheck disable=SC2017
		ob_total=$((ob_gb * 1000000000 / 1024 * 94 / 100))
	else
		ob_line=$(ob_bounded 10 "${OVERBRAINER_DF:-df}" -Pk "$ob_run" 2>/dev/null | tail -n 1)
		# shellcheck disable=SC2086
		set -- $ob_line
		[ "$#" -ge 6 ] || return 1
		# What a server shares with others is not this pod's to fill.
		case $1 in *:* | //*) return 1 ;; esac
		ob_number "$3" ""
		ob_used=$ob_n
		ob_number "$4" ""
		ob_free=$ob_n
		[ -n "$ob_used" ] && [ -n "$ob_free" ] || return 1
		ob_total=$((ob_used + ob_free))
	fi
	[ -n "$ob_used" ] && [ "$ob_total" -gt 0 ] || return 1
	[ $((ob_used * 100)) -ge $((97 * ob_total)) ]
}

started=0
job_pid=
job_start=
ended=0
ended_at=
retrieved=0
told_lease=0

# sample: looks at everything once, before any rule is applied.
sample() {
	ob_clock %s
	n=$ob_now
	if [ "$started" = 0 ]; then
		if [ -e "$ob_run/job.pid" ] || [ -e "$ob_run/exit_code" ] || [ -e "$ob_run/cancelled" ]; then
			started=1
			log "job started"
		fi
	fi
	if [ "$started" = 1 ] && [ "$ended" = 0 ]; then
		if ob_pid; then
			job_pid=$ob_job_pid
			job_start=$ob_job_start
		fi
		if [ -e "$ob_run/exit_code" ] || [ -e "$ob_run/cancelled" ]; then
			ended=1
		elif [ -n "$job_pid" ] && ! ob_alive "$job_pid" "$job_start"; then
			ended=1
		fi
		if [ "$ended" = 1 ]; then
			ob_number_in "$pod/ended_at" "$n"
			ended_at=$ob_n
			[ "$ended_at" -le "$n" ] || ended_at=$n
			ob_write "$pod/ended_at" "$ended_at"
			log "job ended"
		fi
	fi
	if [ "$retrieved" = 0 ]; then
		if [ -e "$pod/retrieved" ]; then
			retrieved=1
			log "retrieved marker seen"
		elif [ "$ended" = 1 ] && [ ! -d "$ob_run" ]; then
			# Only a client that has everything removes the directory.
			retrieved=1
			log "run directory removed"
		fi
	fi
	fresh=0
	ob_number "$(ob_mtime "$pod/lease")" ""
	ob_age=$ob_n
	if [ -n "$ob_age" ]; then
		ob_age=$((n - ob_age))
		if [ "$ob_age" -lt "$lease_ttl" ] && [ "$ob_age" -gt "-$lease_ttl" ]; then
			fresh=1
		fi
	fi
	earlier "${OVERBRAINER_COST_CAP_AT:-}" "$pod/cost_cap_at"
	cap_at=$ob_n
	earlier "${OVERBRAINER_SNAPSHOT_AT:-}" "$pod/snapshot_at"
	snapshot_at=$ob_n
	# A followed run that makes progress may go on for the overrun.
	due_at=$deadline
	if [ -n "$deadline" ] && [ "$fresh" = 1 ]; then
		due_at=$((deadline + overrun))
	fi
	if [ -n "$deadline" ] && [ "$n" -ge "$deadline" ] && [ "$n" -lt "$due_at" ] && [ "$told_lease" = 0 ]; then
		told_lease=1
		log "deadline passed, lease held"
	fi
}

# ask: rules that ask the job for a snapshot.
ask() {
	[ "${OVERBRAINER_SNAPSHOTS:-1}" != 0 ] || return 0
	[ "$started" = 1 ] && [ "$ended" = 0 ] || return 0
	if [ -z "$asked_at" ]; then
		if [ -n "$snapshot_at" ] && [ "$snapshot_at" -le "$n" ]; then
			request cost
			if [ -n "$cap_at" ] && [ "$cap_at" -gt "$n" ]; then
				log "$(((cap_at - n + 59) / 60)) min to max_cost_usd"
			fi
		elif [ -n "$due_at" ] && [ "$n" -ge $((due_at - snapshot_lead)) ]; then
			request deadline
		fi
	fi
	if [ ! -e "$ob_run/snapshot.request" ] && disk_full; then
		request disk
	fi
}

# job_due: whether a running job's time is over. It has time to answer one
# request for a snapshot.
job_due() {
	[ -n "$due_at" ] && [ "$n" -ge "$due_at" ] || return 1
	if [ -n "$asked_at" ] && [ $((n - asked_at)) -lt "$snapshot_wait" ] && [ "$n" -lt $((due_at + snapshot_wait)) ]; then
		return 1
	fi
}

# kept: whether keep_pod holds now. It begins with the job and is counted from
# the job's end.
kept() {
	[ "$keep" != 0 ] && [ "$started" = 1 ] || return 1
	ob_number_in "$pod/keep_until" ""
	ob_until=$ob_n
	if [ -n "$ob_until" ] && [ "$n" -ge "$ob_until" ]; then
		return 1
	fi
	[ "$ended" = 1 ] && [ "$keep" -gt 0 ] || return 0
	[ "$n" -lt $((ended_at + keep)) ]
}

# end_job: a kept pod's job ends at its time, the pod stays.
ending=0
end_job() {
	ob_pid || return 0
	if [ "$ending" = 0 ]; then
		ending=1
		ob_write "$pod/ended_by" deadline
		log "ending the job reason=deadline"
		ob_signal TERM "$ob_job_pid"
	else
		ob_signal KILL "$ob_job_pid"
	fi
}

# decide: sets reason when the pod has to go; the first rule that matches wins.
decide() {
	reason=
	if [ "$boot_failed" = 1 ]; then
		# The client gets time to read why.
		if [ -e "$pod/seen" ] || [ $((n - own_start)) -ge "$seen_wait" ]; then
			reason=bootstrap_failed
		fi
		return 0
	fi
	if [ -n "$cap_at" ] && [ "$cap_at" -le "$n" ]; then
		reason=cost_cap
		return 0
	fi
	if kept; then
		if [ "$ended" = 0 ] && job_due; then
			end_job
			if [ "$keep" -gt 0 ] && [ "$n" -ge $((deadline + overrun + retrieve_grace + keep)) ]; then
				reason=deadline
			fi
		fi
		return 0
	fi
	if [ -n "$deadline" ]; then
		if [ "$keep" -le 0 ] && [ "$n" -ge $((deadline + overrun + retrieve_grace)) ]; then
			reason=deadline
		elif [ "$ended" = 0 ] && job_due; then
			reason=deadline
		elif [ "$ended" = 1 ] && [ "$keep" -le 0 ] && [ "$fresh" = 0 ] && [ "$n" -ge $((deadline + retrieve_grace)) ]; then
			reason=deadline
		fi
		[ -z "$reason" ] || return 0
	fi
	if [ "$retrieved" = 1 ]; then
		reason=retrieved
		[ "$keep" = 0 ] || reason=keep_over
	elif [ "$ended" = 1 ]; then
		if [ "$fresh" = 0 ] && [ $((n - ended_at)) -ge "$retrieve_grace" ]; then
			reason=abandoned
		elif [ "$keep" -gt 0 ] && [ -n "$deadline" ] && [ "$n" -ge $((deadline + overrun + retrieve_grace + keep)) ]; then
			reason=deadline
		fi
	elif [ "$started" = 0 ] && [ "$fresh" = 0 ] && [ $((n - start)) -ge "$boot_grace" ]; then
		reason=never_started
	fi
}

# nap sets ob_nap to the seconds until the next look: an interval, or less where
# a bound falls into it.
nap() {
	ob_nap=$interval
	# Those that are not set fall away.
	# shellcheck disable=SC2086
	set -- $cap_at $snapshot_at $due_at $((start + boot_grace)) $((own_start + seen_wait))
	[ -z "$asked_at" ] || set -- "$@" $((asked_at + snapshot_wait))
	[ -z "$ended_at" ] || set -- "$@" $((ended_at + retrieve_grace)) $((ended_at + keep))
	[ -z "$deadline" ] || set -- "$@" $((deadline + retrieve_grace)) \
		$((deadline + overrun + retrieve_grace)) $((deadline + overrun + retrieve_grace + keep))
	for ob_at in "$@"; do
		ob_at=$((ob_at - n))
		if [ "$ob_at" -gt 0 ] && [ "$ob_at" -lt "$ob_nap" ]; then
			ob_nap=$ob_at
		fi
	done
}

# delete_pod: an accepted delete is not yet an end. Only being killed is, so the
# loop goes on and asks again.
accepted=
failures=0
delete_pod() {
	log "delete reason=$1"
	ob_answers=$(provider_delete "$failures" 2>/dev/null)
	ob_status=$?
	while read -r ob_text; do
		[ -z "$ob_text" ] || log "$ob_text"
	done <<ANSWERS
$ob_answers
ANSWERS
	if [ "$ob_status" = 0 ]; then
		accepted=$1
		failures=0
		log "delete accepted"
	else
		failures=$((failures + 1))
		log "delete failed"
	fi
}

# backstop: the outermost bound, by what came with the pod alone and without
# touching a file system, in case the run directory's one hangs.
backstop() {
	guard=self
	while kill -0 "$main" 2>/dev/null; do
		sleep "$interval"
		if [ "$(now)" -ge $((bound + 2 * interval)) ] && kill -0 "$main" 2>/dev/null; then
			printf 'watchdog: backstop\n'
			provider_delete "$failures" >/dev/null 2>&1 || failures=$((failures + 1))
		fi
	done
}

main=$$
ob_clock %s
own_start=$ob_now
ob_number_in "$pod/first_start" "$own_start"
start=$ob_n
[ "$start" -le "$own_start" ] || start=$own_start
ob_write "$pod/first_start" "$start"
log "start deadline=${deadline:-none} overrun=$overrun boot_grace=$boot_grace retrieve_grace=$retrieve_grace keep=$keep cost_cap_at=${OVERBRAINER_COST_CAP_AT:-none} boot_failed=$boot_failed first_start=$start"

ob_number "${OVERBRAINER_COST_CAP_AT:-}" ""
bound=$ob_n
if [ -n "$deadline" ] && [ "$keep" -ge 0 ]; then
	ob_hard=$((deadline + overrun + retrieve_grace + keep))
	if [ -z "$bound" ] || [ "$ob_hard" -lt "$bound" ]; then
		bound=$ob_hard
	fi
fi
guard=
if [ -n "$bound" ]; then
	backstop &
	guard=$!
fi
trap 'log stopping; kill $guard $sleeper 2>/dev/null; exit 0' TERM INT

verdict
while :; do
	if [ -n "$accepted" ]; then
		delete_pod "$accepted"
		pause "$interval"
		continue
	fi
	sample
	ask
	decide
	[ -z "$reason" ] || delete_pod "$reason"
	nap
	pause "$ob_nap"
done
