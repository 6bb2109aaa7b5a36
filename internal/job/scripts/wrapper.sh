# shellcheck shell=sh disable=SC2154
# The job's first process: leader of its session, keeper of its exit code.
# Arguments: run directory, the job's PATH, setup (or nothing), the command.
ob_run=$1
ob_job_path=$2
ob_setup=$3
shift 3
cd "$ob_run" || exit 1
# shellcheck disable=SC2034
PWD=$ob_run
trap '' HUP
ob_stat "$$"
umask 077
{ printf '%s %s\n' "$$" "${ob_proc_start:-}" >job.pid.tmp && mv -f job.pid.tmp job.pid; } || exit 1
printf '%s\n' "$$"
exec >>job.log 2>&1 || exit 1
# A job that signals its own group, or is told to end from outside, still gets
# its exit code recorded; one that is being cancelled does not.
ob_termed=0
trap 'ob_termed=1' TERM
trap : INT QUIT USR1 USR2

ob_record() {
	if [ "$ob_termed" = 1 ] && [ -e cancelling ]; then
		exit 0
	fi
	date +%s >.pod/ended_at.tmp && mv -f .pod/ended_at.tmp .pod/ended_at
	printf '%5s\n' "$1" 1<>exit_code.tmp && mv -f exit_code.tmp exit_code
	exit 0
}

if [ -n "$ob_setup" ]; then
	printf 'setup\n' >.pod/stage
	(
		umask 022
		ob_sh=$(command -v sh)
		PATH=$ob_job_path
		exec "$ob_sh" -ec "$ob_setup"
	)
	ob_code=$?
	if [ "$ob_code" != 0 ]; then
		printf 'overbrainer: setup ended with exit code %s, the command was not started\n' "$ob_code"
		ob_record "$ob_code"
	fi
fi
printf 'command\n' >.pod/stage
(
	umask 022
	PATH=$ob_job_path
	exec "$@"
)
ob_record "$?"
