# shellcheck shell=sh disable=SC2154
# Lists what lies below each of the links to directories among its arguments, as
# files.sh does: the regular files, an empty name, the links, an empty name; and
# the link itself where that is not all because something cannot be read, and an
# empty name.
cd "$ob_run" || exit 1
for ob_at in "$@"; do
	ob_whole=1
	find "$ob_at/" -type f -print0 || ob_whole=
	printf '\000'
	find "$ob_at/" -type l -print0 || ob_whole=
	printf '\000'
	[ -n "$ob_whole" ] || printf '%s\000' "$ob_at"
	printf '\000'
done
