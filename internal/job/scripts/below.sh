# shellcheck shell=sh disable=SC2154,SC2016
# Lists what lies below each of the links to directories named on standard input,
# as files.sh does: the regular files, an empty name, the links, an empty name; and
# the link itself where that is not all because something cannot be read, and an
# empty name.
cd "$ob_run" || exit 1
xargs -0 sh -c '
for f do
	k=1
	find "$f/" -type f -print0 || k=
	printf "\\000"
	find "$f/" -type l -print0 || k=
	printf "\\000"
	[ "$k" ] || printf "%s\\000" "$f"
	printf "\\000"
done
' sh
