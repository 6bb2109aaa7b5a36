# shellcheck shell=sh disable=SC2154,SC2034
# Says how the job stands. It needs ob_run and lib.sh.

# ob_status: sets ob_state to none, running, cancelled, lost or "exited N".
# Liveness is looked at before the files: a job that ends in between has written
# them by then. Fails on a malformed process number or exit code.
ob_status() {
	ob_state=
	ob_live=0
	if [ ! -d "$ob_run" ]; then
		ob_state=lost
		return 0
	fi
	ob_pid
	ob_has_pid=$?
	if [ "$ob_has_pid" = 2 ]; then
		printf 'job.pid holds no process number\n' >&2
		return 1
	fi
	if [ "$ob_has_pid" = 0 ] && ob_alive "$ob_job_pid" "$ob_job_start"; then
		ob_live=1
	fi
	if [ -e "$ob_run/cancelled" ]; then
		ob_state=cancelled
	elif [ -e "$ob_run/cancelling" ] && [ "$ob_live" = 1 ]; then
		ob_state=running
	elif [ -e "$ob_run/exit_code" ]; then
		ob_exit=
		{ read -r ob_exit ob_rest || :; } 2>/dev/null <"$ob_run/exit_code"
		ob_number "$ob_exit" ""
		ob_exit=$ob_n
		if [ -z "$ob_exit" ]; then
			printf 'exit_code holds no number\n' >&2
			return 1
		fi
		ob_state="exited $ob_exit"
	elif [ -e "$ob_run/cancelling" ]; then
		ob_state=cancelled
	elif [ "$ob_live" = 1 ]; then
		ob_state=running
	elif [ "$ob_has_pid" = 0 ]; then
		ob_state=lost
	elif [ -f "$ob_run/.pod/launch" ]; then
		# Somebody is just starting the job, or died while doing so.
		ob_launcher=
		ob_begun=
		{ read -r ob_launcher ob_begun || :; } 2>/dev/null <"$ob_run/.pod/launch"
		ob_number "$ob_launcher" 0
		if ob_stat "$ob_n" && [ "$ob_proc_start" = "$ob_begun" ]; then
			ob_state=running
		elif ob_pid; then
			ob_state=running
		else
			ob_state=lost
		fi
	else
		ob_state=none
	fi
}
