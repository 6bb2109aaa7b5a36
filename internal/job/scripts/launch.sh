# shellcheck shell=sh disable=SC2154,SC2034,SC1091,SC2016
# Starts the job in a session of its own. ob_job is what it is made of: commands
# of which every value is quoted. Nothing of it is ever on an argument list but
# the command itself. Exit status 75: it was started before.
set -u
umask 077
ob_log=$ob_run/job.log

if [ ! -d "$ob_run/.pod" ]; then
	printf 'the run directory %s is not there\n' "$ob_run" >&2
	exit 1
fi
for ob_session in setsid python3 perl ""; do
	[ -z "$ob_session" ] || ! command -v "$ob_session" >/dev/null 2>&1 || break
done
if [ -z "$ob_session" ]; then
	printf 'the image has none of setsid, python3 and perl, one of which is needed to start a job\n' >&2
	exit 1
fi
ob_path=$PATH
ob_home=${HOME:-/root}

# What sshd gave to this login is not the job's. A line of a value that looks
# like another variable does no harm: none of the job's is set yet.
set -f
ob_fields=$IFS
IFS=$ob_lines
for ob_name in $(export -p); do
	case $ob_name in
	"export "* | "declare -x "*) ;;
	*) continue ;;
	esac
	ob_name=${ob_name#declare -x }
	ob_name=${ob_name#export }
	ob_name=${ob_name%%=*}
	case $ob_name in
	*[!A-Za-z0-9_]* | [0-9]* | "") ;;
	PATH | HOME | IFS | ob_* | UID | EUID | PPID | BASHOPTS | SHELLOPTS | BASH_VERSINFO) ;;
	*) unset "$ob_name" ;;
	esac
done
IFS=$ob_fields
set +f
HOME=$ob_home
export HOME
if [ -f "$ob_root/etc/overbrainer/job.env" ]; then
	. "$ob_root/etc/overbrainer/job.env" || exit 1
fi

# ob_env NAME VALUE: a variable of the job.
ob_env() {
	if ! export "$1=$2"; then
		printf 'the variable %s cannot be set\n' "$1" >&2
		exit 1
	fi
}

ob_wrapper=
ob_setup=
ob_signal_name=
case $ob_job in
*"${ob_lines}ob_whole=1") eval "$ob_job" ;;
*) ob_whole=0 ;;
esac
ob_job=
if [ "$ob_whole" != 1 ] || [ "$#" = 0 ]; then
	printf 'the job arrived cut off and was not started\n' >&2
	exit 1
fi

# From here on with tools that are known to be there.
ob_job_path=${PATH:-$ob_path}
PATH=$ob_path
read -r ob_self ob_rest </proc/self/stat # $$ is a shell's that goes on after this
ob_stat "$ob_self"
set -C
if [ -e "$ob_run/job.pid" ] || ! { printf '%s %s\n' "$ob_self" "${ob_proc_start:-}" >"$ob_run/.pod/launch"; } 2>/dev/null; then
	if [ -e "$ob_run/.pod/launch" ] || [ -e "$ob_run/job.pid" ]; then
		printf 'the job was started before\n' >&2
		exit 75
	fi
	printf 'the run directory cannot be written\n' >&2
	exit 1
fi
set +C
ob_remove "$ob_run/exit_code" "$ob_run/cancelling" "$ob_run/cancelled" "$ob_run/snapshot.request" \
	"$ob_run/.pod/ended_at" "$ob_run/.pod/ended_by" "$ob_run/.pod/retrieved" "$ob_run/.pod/signal"
[ -z "$ob_signal_name" ] || ob_write "$ob_run/.pod/signal" "$ob_signal_name"
# Room for the exit code, so that it can be written on a full disk.
printf '     \n' >"$ob_run/exit_code.tmp"
: >>"$ob_log"
if [ -n "${OVERBRAINER_VOLUME_DIR:-}" ]; then
	ob_fields=$IFS
	IFS=:
	for ob_name in $ob_job_path; do
		case $ob_name in
		"$OVERBRAINER_VOLUME_DIR"/*)
			[ -d "$ob_name" ] || printf 'overbrainer: PATH names %s, which is not there: the volume mounted at %s hides what the image keeps below it\n' "$ob_name" "$OVERBRAINER_VOLUME_DIR" >>"$ob_log"
			;;
		esac
	done
	IFS=$ob_fields
fi

# The first new session makes the second one fork, which leaves the job without
# any tie to this shell. A job started with & would ignore interrupts.
set -- sh -c "$ob_wrapper" overbrainer-job "$ob_run" "$ob_job_path" "$ob_setup" "$@"
case $ob_session in
setsid) set -- setsid setsid "$@" ;;
perl) set -- perl -e 'use POSIX; exit 0 if fork; POSIX::setsid(); exec {$ARGV[0]} @ARGV; exit 127' "$@" ;;
*) set -- python3 -c 'import os,sys
if os.fork(): os._exit(0)
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])' "$@" ;;
esac
ob_answer=$("$@" </dev/null 2>>"$ob_log")
case $ob_answer in
"" | *[!0-9]*)
	rm -f "$ob_run/.pod/launch"
	printf 'the job could not be started: %s\n' "$(tail -c 1000 "$ob_log")" >&2
	exit 1
	;;
esac
printf 'pid %s\n' "$ob_answer"
