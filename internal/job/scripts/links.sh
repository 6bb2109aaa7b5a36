# shellcheck shell=sh disable=SC2154,SC2016
# Says where the links named on standard input lead, in four fields that each end
# by a NUL: f (a file), d (a directory) or - (nothing that can be fetched), the
# name, and for a directory where the link lies and where it leads to.
cd "$ob_run" || exit 1
xargs -0 sh -c '
for f do
	k=- at= to=
	if [ -f "$f" ]; then
		k=f
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
