# shellcheck shell=sh disable=SC2154,SC2034
# Says what a job that has ended left running: "left N" processes, "open NAME" for
# each file in the run directory that one of them may write to, and "changed" where
# anything there did since the look before, which ob_anew makes forget. The log and
# the metrics, which may grow, do not count, nor does what is ours.
cd "$ob_run" 2>/dev/null || {
	printf 'left 0\n'
	exit 0
}

# ob_grouped: the living processes of the job's group.
ob_grouped() {
	ob_pid && ob_alive "$ob_job_pid" "$ob_job_start" || return 0
	ob_processes | grep -v '^[0-9]* Z' | grep "^[0-9]* [A-Za-z] $ob_job_pid " | sed 's/ .*//'
}

# The job's first process ends by itself once it has written how the job ended.
ob_pid
ob_left=" $ob_job_pid "
set --
for ob_one in $(ob_grouped) $(ob_marked); do
	case $ob_left in
	*" $ob_one "*) ;;
	*)
		ob_left="$ob_left$ob_one "
		set -- "$@" "/proc/$ob_one/fd"
		;;
	esac
done
printf 'left %s\n' "$#"

# What is open shows as a link whose mode says whether it may be written to.
if [ "$#" -gt 0 ]; then
	ob_dir=$(pwd -P)
	# shellcheck disable=SC2012
	ls -l "$@" 2>/dev/null | sed -n 's/^l.w[^>]*-> //p' | while IFS= read -r ob_line; do
		ob_name=${ob_line#"$ob_dir/"}
		case $ob_name in
		"$ob_line" | .pod/* | job.log | "$ob_metrics" | *" (deleted)") ;;
		*) printf 'open %s\n' "$ob_name" ;;
		esac
	done
fi

# A directory's time tells of names that came, went or changed.
{ printf '' >.pod/rested.new; } 2>/dev/null
if [ -n "$ob_anew" ] || [ ! -e .pod/rested ] || [ -n "$(find . \( -path ./.pod -o -path ./job.log -o -path "./$ob_metrics" \) -prune -o \( -type f -o -type d \) -newer .pod/rested -print 2>/dev/null | head -n 1)" ]; then
	mv -f .pod/rested.new .pod/rested 2>/dev/null
	printf 'changed\n'
fi
exit 0
