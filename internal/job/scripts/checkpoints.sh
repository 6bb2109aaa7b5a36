# shellcheck shell=sh disable=SC2154
# Lists the checkpoints that lie at a pattern: a line for the step of each, as it is
# written there, and a NUL. Then, for each of the two newest, a line with its step,
# one for each of its files, with size and time, and a NUL. Nothing is read of them.
cd "$ob_run" || exit 1
# ob_files PATH: stat is not in every image.
ob_files() {
	if command -v stat >/dev/null 2>&1; then
		find -L "$1" -type f -exec stat -L -c '%s %y %z %n' {} +
	else
		find -L "$1" -type f -exec ls -lnL {} +
	fi 2>/dev/null
}
printf 'overbrainer-checkpoints 1\n'
ob_best=-1 ob_second=-1 ob_newest='' ob_older=''
for ob_path in "./$ob_before"*"$ob_after"; do
	[ -e "$ob_path" ] || continue
	ob_step=${ob_path#"./$ob_before"}
	ob_step=${ob_step%"$ob_after"}
	ob_number "$ob_step" ""
	[ -n "$ob_n" ] || continue
	printf '%s\n' "$ob_step"
	if [ "$ob_n" -gt "$ob_best" ]; then
		ob_second=$ob_best ob_older=$ob_newest
		ob_best=$ob_n ob_newest=$ob_step
	elif [ "$ob_n" -gt "$ob_second" ]; then
		ob_second=$ob_n ob_older=$ob_step
	fi
done
printf '\000'
for ob_step in $ob_newest $ob_older; do
	printf '%s\n' "$ob_step"
	ob_files "./$ob_before$ob_step$ob_after" || :
	printf '\000'
done
