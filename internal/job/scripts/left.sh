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

# ob_count PROCESS: once each. The job's first process ends by itself once it has
# written how the job ended.
ob_pid
ob_left=" $ob_job_pid "
ob_n_left=0
ob_count() {
	case $ob_left in
	*" $1 "*) ;;
	*)
		ob_left="$ob_left$1 "
		ob_n_left=$((ob_n_left + 1))
		;;
	esac
}
for ob_one in $(ob_grouped) $(ob_marked); do
	ob_count "$ob_one"
done

# Whoever writes to the run's directory counts, also where nothing tells that the job
# began it. What is open shows as a link whose mode says whether it may be written to.
ob_dir=$(pwd -P)
# shellcheck disable=SC2012
ob_fds=$(ls -l /proc/[0-9]*/fd 2>/dev/null | sed -n -e 's/^\/proc\/\([0-9]*\)\/fd:$/process:\1/p' -e 's/^l.w[^>]*-> / /p' |
	grep -F -e process: -e " $ob_dir/")
ob_open=
while IFS= read -r ob_line; do
	case $ob_line in
	" $ob_dir/"*)
		ob_name=${ob_line#" $ob_dir/"}
		case $ob_name in
		.pod/* | job.log | "$ob_metrics" | *" (deleted)") ;;
		*)
			ob_open="${ob_open}open $ob_name$ob_lines"
			ob_count "$ob_one"
			;;
		esac
		;;
	*) ob_one=${ob_line#process:} ;;
	esac
done <<OPEN
$ob_fds
OPEN
printf 'left %s\n%s' "$ob_n_left" "$ob_open"

# A directory's time tells of names that came, went or changed.
{ printf '' >.pod/rested.new; } 2>/dev/null
if [ -n "$ob_anew" ] || [ ! -e .pod/rested ] || [ -n "$(find . \( -path ./.pod -o -path ./job.log -o -path "./$ob_metrics" \) -prune -o \( -type f -o -type d \) -newer .pod/rested -print 2>/dev/null | head -n 1)" ]; then
	mv -f .pod/rested.new .pod/rested 2>/dev/null
	printf 'changed\n'
fi
exit 0
