# shellcheck shell=sh disable=SC2154,SC2034,SC1091,SC2016
# Starts the job: reads its parts from standard input, one a line, values in
# base64, and starts it in a session of its own. Nothing of them is ever on an
# argument list but the command itself. Exit status 75: it was started before.
set -u
umask 077
ob_log=$ob_run/job.log
ob_sh=$(command -v sh) || exit 1

if [ ! -d "$ob_run/.pod" ]; then
	printf 'the run directory %s is not there\n' "$ob_run" >&2
	exit 1
fi
ob_session=
for ob_tool in setsid python3 perl; do
	if ob_session=$(command -v "$ob_tool" 2>/dev/null); then
		break
	fi
done
if [ -z "$ob_session" ]; then
	printf 'the image has none of setsid, python3 and perl, one of which is needed to start a job\n' >&2
	exit 1
fi
ob_base=$(command -v base64 2>/dev/null)
ob_openssl=$(command -v openssl 2>/dev/null)
ob_python=$(command -v python3 2>/dev/null)
ob_path=$PATH
ob_home=${HOME:-/root}

# ob_plain BASE64: sets ob_value, line breaks at its end included.
ob_plain() {
	if [ -z "${1:-}" ]; then
		ob_value=
		return 0
	fi
	if [ -n "$ob_base" ]; then
		ob_value=$(printf '%s' "$1" | "$ob_base" -d && printf x)
	elif [ -n "$ob_openssl" ]; then
		ob_value=$(printf '%s' "$1" | "$ob_openssl" base64 -d -A && printf x)
	else
		ob_value=$(printf '%s' "$1" | "$ob_python" -c 'import base64,sys; sys.stdout.buffer.write(base64.b64decode(sys.stdin.buffer.read()))' && printf x)
	fi || return 1
	ob_value=${ob_value%x}
}

# What sshd gave to this login is not the job's.
for ob_name in $(tr '\n\000' ' \n' <"/proc/$$/environ" | LC_ALL=C sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
	case $ob_name in
	PATH | HOME | IFS | ob_* | UID | EUID | PPID | BASHOPTS | SHELLOPTS | BASH_VERSINFO) ;;
	*) unset "$ob_name" ;;
	esac
done
HOME=$ob_home
export HOME
if [ -f "$ob_root/etc/overbrainer/job.env" ]; then
	. "$ob_root/etc/overbrainer/job.env" || exit 1
fi

ob_wrapper=
ob_setup=
ob_signal_name=
ob_whole=0
while IFS=' ' read -r ob_kind ob_name ob_text; do
	case $ob_kind in
	env)
		if ! ob_plain "$ob_text" || ! export "$ob_name=$ob_value"; then
			printf 'the variable %s cannot be set\n' "$ob_name" >&2
			exit 1
		fi
		;;
	wrapper) ob_plain "$ob_text" && ob_wrapper=$ob_value ;;
	setup) ob_plain "$ob_text" && ob_setup=$ob_value ;;
	arg) ob_plain "$ob_text" && set -- "$@" "$ob_value" ;;
	signal) ob_signal_name="$ob_name $ob_text" ;;
	end)
		ob_whole=1
		break
		;;
	esac || {
		printf 'the job could not be read\n' >&2
		exit 1
	}
done
ob_value=
ob_text=
if [ "$ob_whole" != 1 ] || [ "$#" = 0 ]; then
	printf 'the job arrived cut off and was not started\n' >&2
	exit 1
fi

# From here on with tools that are known to be there.
ob_job_path=${PATH:-$ob_path}
PATH=$ob_path
ob_stat "$$"
if [ -e "$ob_run/job.pid" ] || ! (
	set -C
	printf '%s %s\n' "$$" "${ob_proc_start:-}" >"$ob_run/.pod/launch"
) 2>/dev/null; then
	if [ -e "$ob_run/.pod/launch" ] || [ -e "$ob_run/job.pid" ]; then
		printf 'the job was started before\n' >&2
		exit 75
	fi
	printf 'the run directory cannot be written\n' >&2
	exit 1
fi
rm -f "$ob_run/exit_code" "$ob_run/cancelling" "$ob_run/cancelled" "$ob_run/snapshot.request" \
	"$ob_run/.pod/ended_at" "$ob_run/.pod/ended_by" "$ob_run/.pod/retrieved" "$ob_run/.pod/signal"
[ -z "$ob_signal_name" ] || ob_write "$ob_run/.pod/signal" "$ob_signal_name"
# Room for the exit code, so that it can be written on a full disk.
printf '     \n' >"$ob_run/exit_code.tmp"
: >>"$ob_log"
PATH=$ob_job_path
export PATH
if [ -n "${OVERBRAINER_VOLUME_DIR:-}" ]; then
	ob_fields=$IFS
	IFS=:
	for ob_name in $PATH; do
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
case $ob_session in
*/setsid)
	ob_answer=$("$ob_session" "$ob_session" "$ob_sh" -c "$ob_wrapper" overbrainer-job "$ob_run" "$ob_sh" "$ob_path" "$ob_setup" "$@" </dev/null 2>>"$ob_log")
	;;
*/perl)
	ob_answer=$("$ob_session" -e 'use POSIX; exit 0 if fork; POSIX::setsid(); exec {$ARGV[0]} @ARGV; exit 127' \
		"$ob_sh" -c "$ob_wrapper" overbrainer-job "$ob_run" "$ob_sh" "$ob_path" "$ob_setup" "$@" </dev/null 2>>"$ob_log")
	;;
*)
	ob_answer=$("$ob_session" -c 'import os,sys
if os.fork(): os._exit(0)
os.setsid()
os.execv(sys.argv[1], sys.argv[1:])' \
		"$ob_sh" -c "$ob_wrapper" overbrainer-job "$ob_run" "$ob_sh" "$ob_path" "$ob_setup" "$@" </dev/null 2>>"$ob_log")
	;;
esac
case $ob_answer in
"" | *[!0-9]*)
	PATH=$ob_path
	rm -f "$ob_run/.pod/launch"
	printf 'the job could not be started: %s\n' "$(tail -c 1000 "$ob_log")" >&2
	exit 1
	;;
esac
printf 'pid %s\n' "$ob_answer"
