# shellcheck shell=sh disable=SC2154,SC2016
# Says where the links named on standard input lead, in four fields that each end
# by a NUL: f (a file), d (a directory) or - (nothing that can be fetched), the
# name, for a directory where the link lies, and where it leads to; for a file that
# is empty where the image has no readlink.
cd "$ob_run" || exit 1
xargs -0 sh -c '
for f do
	k=- at= to=
	if [ -f "$f" ]; then
		k=f
		to=$(readlink -f "$f" && printf x)
	elif [ -d "$f" ] && at=$(cd -P "${f%/*}" && pwd -P && printf x) && to=$(cd -P "$f" && pwd -P && printf x); then
		k=d
	fi 2>/dev/null
	at=${at%x}
	to=${to%x}
	nl="
"
	printf "%s\\000%s\\000%s\\000%s\\000" "$k" "$f" "${at%"$nl"}" "${to%"$nl"}"
done
' sh
