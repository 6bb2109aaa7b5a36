# shellcheck shell=sh disable=SC2154,SC2016
# Prints those of the names on standard input, each ended by a NUL, whose files
# were written since files.sh listed them.
cd "$ob_run" || exit 1
[ -e .pod/listed ] || exit 0
xargs -0 sh -c '
for f do
	if [ "$f" -nt .pod/listed ]; then
		printf "%s\\000" "$f"
	fi
done
' sh
