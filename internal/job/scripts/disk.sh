# shellcheck shell=sh disable=SC2154,SC2034
# Measures what may take long: the newest checkpoint and the volume. Each is
# bounded, and not being able to measure is no failure.
ob_measure() {
	ob_bounded 50 "${OVERBRAINER_DU:-du}" -sk "$1" 2>/dev/null | {
		read -r ob_first ob_rest || :
		ob_number "${ob_first:-}" ""
		printf '%s' "$ob_n"
	}
}
printf 'overbrainer-disk 1\n'
if [ -n "$ob_checkpoint" ]; then
	ob_best=-1
	ob_newest=
	for ob_path in "$ob_run/$ob_before"*"$ob_after"; do
		[ -e "$ob_path" ] || continue
		ob_step=${ob_path#"$ob_run/$ob_before"}
		ob_number "${ob_step%"$ob_after"}" ""
		if [ -n "$ob_n" ] && [ "$ob_n" -gt "$ob_best" ]; then
			ob_best=$ob_n
			ob_newest=$ob_path
		fi
	done
	if [ -n "$ob_newest" ]; then
		printf 'checkpoint %s %s\n' "$ob_best" "$(ob_measure "$ob_newest")"
	fi
fi
if [ -n "$ob_volume" ]; then
	printf 'volume %s\n' "$(ob_measure "$ob_root$ob_volume")"
fi
exit 0
