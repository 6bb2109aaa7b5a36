# shellcheck shell=sh disable=SC2154,SC2034
# Finds what runs of a job. It needs lib.sh, and the run in ob_mark.

# ob_marked: prints the processes of the job, also those that left its group. They
# are known by a variable that nothing else on the pod has.
ob_marked() {
	[ -n "$ob_mark" ] || return 0
	ob_one=
	tail -n +1 /proc/[0-9]*/environ 2>/dev/null | tr '\000' '\n' |
		grep -e '^==> /proc/[0-9]*/environ <==$' -e '^OVERBRAINER_JOB=' | while IFS= read -r ob_line; do
		case $ob_line in
		"==> /proc/"*)
			ob_one=${ob_line#"==> /proc/"}
			ob_one=${ob_one%%/*}
			;;
		"OVERBRAINER_JOB=$ob_mark") printf '%s\n' "$ob_one" ;;
		esac
	done
}
