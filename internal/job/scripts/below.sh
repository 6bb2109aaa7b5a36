# shellcheck shell=sh disable=SC2154
# Lists what lies below each of the links to directories among its arguments, as
# files.sh does: the regular files, an empty name, the links, an empty name.
cd "$ob_run" || exit 1
for ob_at in "$@"; do
	find "$ob_at/" -type f -print0 || exit 1
	printf '\000'
	find "$ob_at/" -type l -print0 || exit 1
	printf '\000'
done
