# shellcheck shell=sh disable=SC2154
# Prints those of the names among its arguments, each ended by a NUL, whose files
# were written since files.sh listed them.
cd "$ob_run" || exit 1
[ -e .pod/listed ] || exit 0
for ob_at in "$@"; do
	# shellcheck disable=SC3013
	[ ! "$ob_at" -nt .pod/listed ] || printf '%s\000' "$ob_at"
done
