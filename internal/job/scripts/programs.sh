# shellcheck shell=sh
# Names the programs that a run takes and the image has not, one a line, and
# fails with 4 where there are any: what is found missing when the results are to
# be fetched is found too late.
ob_lacks=0
for ob_name in cat chmod date dd df find grep head mkdir mv rm sed sleep tail tar tr wc; do
	if ! command -v "$ob_name" >/dev/null 2>&1; then
		ob_lacks=4
		printf '%s\n' "$ob_name"
	fi
done
# ob_one NAMES...: one of them is enough.
ob_one() {
	for ob_name in "$@"; do
		command -v "$ob_name" >/dev/null 2>&1 && return 0
	done
	ob_lacks=4
	printf '%s, %s or %s\n' "$@"
}
ob_one openssl python3 sha256sum
ob_one base64 openssl python3
ob_one setsid python3 perl
exit "$ob_lacks"
