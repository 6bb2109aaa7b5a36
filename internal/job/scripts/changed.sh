# shellcheck shell=sh disable=SC2154,SC2016
# Prints those of the names on standard input, each ended by a NUL, whose files may
# have been written since files.sh listed them, some of them twice. The clock of a
# shell may be as coarse as a second, so what is not older counts, and where it is
# not known when that was everything does. A rename keeps the time of the content:
# where find can tell, the time of the file itself counts, too.
cd "$ob_run" || exit 1
xargs -0 sh -c '
for f do
	if [ -e "$f" ] && ! [ .pod/listed -nt "$f" ]; then
		printf "%s\\000" "$f"
	fi
done
find -L "$@" -maxdepth 0 -cnewer .pod/listed -print0 2>/dev/null || :
' sh
