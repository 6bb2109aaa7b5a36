# shellcheck shell=sh disable=SC2154,SC2034
# Cancels the job and prints how it stands then. Of one that has ended by itself
# what it left behind is ended. ob_patience is how many seconds TERM, and then
# KILL, are given.

# ob_gone: waits until nothing of the job's group lives.
ob_gone() {
	ob_left=$((ob_patience * 5))
	while ob_alive "$ob_job_pid" "$ob_job_start"; do
		[ "$ob_left" -gt 0 ] || return 1
		ob_left=$((ob_left - 1))
		sleep 0.2 2>/dev/null || sleep 1
	done
}

# ob_stragglers: ends processes of the job that left its group.
ob_stragglers() {
	for ob_one in $(ob_marked); do
		kill -s KILL "$ob_one" 2>/dev/null || :
	done
}

# ob_end: ends the job's group and what has left it.
ob_end() {
	ob_signal TERM "$ob_job_pid"
	if ! ob_gone; then
		ob_signal KILL "$ob_job_pid"
		if ! ob_gone; then
			printf 'the job does not end, not even by KILL\n' >&2
			exit 1
		fi
	fi
	ob_stragglers
}

ob_status || exit 1
case $ob_state in
exited*)
	if [ -n "$ob_job_pid" ]; then
		! ob_alive "$ob_job_pid" "$ob_job_start" || ob_end
		ob_stragglers
	fi
	;;
lost)
	if [ ! -d "$ob_run" ]; then
		printf 'the run directory %s is not there\n' "$ob_run" >&2
		exit 1
	fi
	;;
none)
	printf 'no job was started\n' >&2
	exit 1
	;;
cancelled)
	: >"$ob_run/cancelled" || exit 1
	;;
running)
	if [ -z "$ob_job_pid" ]; then
		printf 'the job is just being started\n' >&2
		exit 1
	fi
	: >"$ob_run/cancelling" || exit 1
	ob_end
	# An exit code is only there when it ended by itself just before.
	if [ ! -e "$ob_run/exit_code" ]; then
		: >"$ob_run/cancelled" || exit 1
	fi
	ob_status || exit 1
	;;
esac
printf 'state %s\n' "$ob_state"
