# shellcheck shell=sh disable=SC2154
# Prints those of the names among its arguments, each ended by a NUL, whose files may
# have been written since files.sh listed them, some of them twice. The clock of a
# shell may be as coarse as a second, so what is not older counts, and where it is
# not known when that was everything does. A rename keeps the time of the content:
# where find can tell, the time of the file itself counts, too.
cd "$ob_run" || exit 1
for ob_at in "$@"; do
	# shellcheck disable=SC3013
	if [ -e "$ob_at" ] && ! [ .pod/listed -nt "$ob_at" ]; then
		printf '%s\000' "$ob_at"
	fi
done
find -L "$@" -maxdepth 0 -cnewer .pod/listed -print0 2>/dev/null || :
