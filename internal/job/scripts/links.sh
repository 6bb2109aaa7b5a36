# shellcheck shell=sh disable=SC2154
# Says where the links among its arguments lead, in four fields that each end by a
# NUL: f (a file), d (a directory) or - (nothing that can be fetched), the name, for
# a directory where the link lies, and where it leads to; for a file that is empty
# where the image has no readlink.
cd "$ob_run" || exit 1
for ob_link in "$@"; do
	ob_kind=-
	ob_at=
	ob_to=
	if [ -f "$ob_link" ]; then
		ob_kind=f
		ob_to=$(readlink -f "$ob_link" && printf x)
	elif [ -d "$ob_link" ] && ob_at=$(cd -P "${ob_link%/*}" && pwd -P && printf x) && ob_to=$(cd -P "$ob_link" && pwd -P && printf x); then
		ob_kind=d
	fi 2>/dev/null
	ob_at=${ob_at%x}
	ob_to=${ob_to%x}
	printf '%s\000%s\000%s\000%s\000' "$ob_kind" "$ob_link" "${ob_at%"$ob_lines"}" "${ob_to%"$ob_lines"}"
done
