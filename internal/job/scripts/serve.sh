# shellcheck shell=sh disable=SC2154,SC2034
# Answers lines of standard input, for as long as there are any:
#
#	root                what stands before every path on the pod
#	look LOG_AT LOG_MAX METRICS_AT METRICS_MAX DISK   see ob_look
#	write FILE TEXT     replaces a file by one line: "done" or "failed WHY"
#	read FILE HEAD MAX MARK
#	                    so many bytes of a file's beginning ("head") or end
#	                    ("tail"), and a line that is MARK
#	script LENGTH MARK  runs a script of so many bytes, which follows and ends with
#	                    "#MARK": what it writes, a line that is MARK, its exit
#	                    code and what it complains of, and that line again
#
# Files are named below the run's directory.
umask 077
exec 3>&1

ob_replace() {
	[ -d "${1%/*}" ] || mkdir -p "${1%/*}" || return 1
	printf '%s\n' "$2" >"$1.$$.tmp" && mv -f "$1.$$.tmp" "$1"
}

while read -r ob_call ob_file ob_text; do
	case $ob_call in
	root) printf '%s\n' "$ob_root" ;;
	look)
		# shellcheck disable=SC2086
		set -- "$ob_file" $ob_text
		ob_log_at=$1
		ob_log_max=$2
		ob_metrics_at=$3
		ob_metrics_max=$4
		ob_disk=$5
		ob_look </dev/null || exit 1
		;;
	write)
		if ob_replace "$ob_run/$ob_file" "$ob_text" 2>/dev/null </dev/null ||
			ob_said=$(ob_replace "$ob_run/$ob_file" "$ob_text" 2>&1 </dev/null); then
			printf 'done\n'
		else
			printf 'failed %s\n' "$(printf '%s' "$ob_said" | tr '\n' ' ')"
		fi
		;;
	read)
		# shellcheck disable=SC2086
		set -- $ob_text
		if [ -f "$ob_run/$ob_file" ]; then
			"$1" -c "$2" "$ob_run/$ob_file" </dev/null || exit 1
		fi
		printf '\n%s\n' "$3"
		;;
	script)
		ob_script=$(head -c "$ob_file")
		case $ob_script in
		*"#$ob_text") ;;
		*) exit 1 ;; # cut off
		esac
		ob_said=$(eval "$ob_script" 2>&1 >&3 3>&- </dev/null)
		printf '\n%s\n%s %s\n%s\n' "$ob_text" "$?" "$ob_said" "$ob_text"
		ob_script=
		;;
	*) exit 1 ;;
	esac
done
ob_remove "$ob_run/.pod/looked.$$"
