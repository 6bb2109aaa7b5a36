# shellcheck shell=sh disable=SC2154,SC2016
# Prints "sha256 size mode name" and a NUL for each name on standard input: of the
# log and the metrics, which may grow meanwhile, for what they held at first; of one
# that cannot be read "-" for digest and size. File content goes to the hash program
# on its standard input, so that no name can be taken for an option.
cd "$ob_run" || exit 1
if command -v sha256sum >/dev/null 2>&1; then
	ob_hash=sha256sum
elif command -v openssl >/dev/null 2>&1; then
	ob_hash='openssl dgst -sha256 -r'
elif command -v python3 >/dev/null 2>&1; then
	ob_hash=python
else
	printf 'the image has none of sha256sum, openssl and python3, one of which is needed to verify results\n' >&2
	exit 1
fi
export ob_hash ob_metrics
xargs -0 sh -c '
python() {
	python3 -c "import hashlib,sys
h=hashlib.sha256()
for b in iter(lambda: sys.stdin.buffer.read(1<<20), b\"\"): h.update(b)
print(h.hexdigest())"
}
for f do
	[ -f "$f" ] || continue
	s=$(wc -c <"$f" | tr -d " ")
	if [ "$f" = ./job.log ] || [ "$f" = "./$ob_metrics" ]; then
		read -r h rest <<END
$(head -c "$s" "$f" | $ob_hash)
END
	else
		read -r h rest <<END
$($ob_hash <"$f")
END
	fi
	[ "$h" ] && [ "$s" ] || h=- s=-
	m=-
	[ ! -x "$f" ] || m=x
	printf "%s %s %s %s\\000" "$h" "$s" "$m" "$f"
done
' sh
