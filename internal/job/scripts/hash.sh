# shellcheck shell=sh disable=SC2154
# Prints "sha256 size mode name" and a NUL for each name among its arguments: of
# the log and the metrics, which may grow meanwhile, for what they held at first; of
# one that cannot be read "-" for digest and size. File content goes to the hash
# program on its standard input, so that no name can be taken for an option.
cd "$ob_run" || exit 1
ob_python() {
	python3 -c 'import hashlib,sys
h=hashlib.sha256()
for b in iter(lambda: sys.stdin.buffer.read(1<<20), b""): h.update(b)
print(h.hexdigest())'
}
if command -v sha256sum >/dev/null 2>&1; then
	ob_hash=sha256sum
elif command -v openssl >/dev/null 2>&1; then
	ob_hash='openssl dgst -sha256 -r'
elif command -v python3 >/dev/null 2>&1; then
	ob_hash=ob_python
else
	printf 'the image has none of sha256sum, openssl and python3, one of which is needed to verify results\n' >&2
	exit 1
fi
for ob_at in "$@"; do
	[ -f "$ob_at" ] || continue
	ob_size=$(wc -c <"$ob_at")
	ob_size=${ob_size##* }
	case $ob_at in
	./job.log | "./$ob_metrics") ob_digest=$(head -c "$ob_size" "$ob_at" | $ob_hash) ;;
	*) ob_digest=$($ob_hash <"$ob_at") ;;
	esac
	[ -n "$ob_digest" ] && [ -n "$ob_size" ] || ob_digest=- ob_size=-
	ob_mode=-
	[ ! -x "$ob_at" ] || ob_mode=x
	printf '%s %s %s %s\000' "${ob_digest%% *}" "$ob_size" "$ob_mode" "$ob_at"
done
