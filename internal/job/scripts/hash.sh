# shellcheck shell=sh disable=SC2154
# Digests, sizes and modes of the names among its arguments. With ob_each "sha256
# size mode name" and a NUL for each: of the log and the metrics, which may grow
# meanwhile, for what they held at first; of one that cannot be read "-" for digest
# and size. Two NULs stand before that. Without ob_each few programs do it for all:
# lines of digests, a NUL, lines of sizes, a NUL, and "= = mode name" and a NUL for
# each.
cd "$ob_run" || exit 1
# With lines in a string, because indentation is taken out of our scripts.
ob_code='exec("import hashlib,os,sys\ndef digest(f):\n h=hashlib.sha256()\n for b in iter(lambda: f.read(1<<20), b\"\"): h.update(b)\n return h.hexdigest().encode()\nif len(sys.argv)==1: print(digest(sys.stdin.buffer).decode())\nfor name in sys.argv[1:]:\n try: line=digest(open(name,\"rb\"))+b\" \"+os.fsencode(name)+b\"\\n\"\n except OSError: continue\n sys.stdout.buffer.write(line)")'
ob_python() { python3 -c "$ob_code" "$@"; }
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
ob_digest='=' ob_size='='
# ob_large: whether the sizes come to so many bytes that a faster program is worth its
# start. wc adds a line of their sum.
ob_large() {
	ob_sum=0
	ob_fields=$IFS
	IFS=$ob_lines
	set -f
	for ob_at in $ob_sizes; do
		case $ob_at in *' ./'*) ;; *) continue ;; esac
		ob_at=${ob_at#"${ob_at%%[! ]*}"}
		ob_number "${ob_at%% *}" 0
		ob_sum=$((ob_sum + ob_n))
	done
	set +f
	IFS=$ob_fields
	[ "$ob_sum" -ge 67108864 ]
}
# ob_fast FILE...: by what is fastest, which sha256sum is seldom: it often knows no
# instructions for it. Of large files at once in as many programs as half of the
# processors, and behind whoever sends them meanwhile. Each program writes one line
# then, so that none stands in another one.
ob_fast() {
	command -v xargs >/dev/null 2>&1 || return 1
	ob_share=$#
	[ $((ob_sum / $#)) -lt 67108864 ] || ob_share=1
	ob_number "$(nproc 2>/dev/null)" 2
	ob_some=$((ob_n / 2))
	[ "$ob_some" -ge 1 ] || ob_some=1
	[ "$ob_some" -le 8 ] || ob_some=8
	ob_nice=
	! command -v nice >/dev/null 2>&1 || ob_nice='nice'
	printf '%s\000' "$@" | if command -v openssl >/dev/null 2>&1; then
		ob_shares openssl dgst -sha256 -r
	elif command -v python3 >/dev/null 2>&1; then
		ob_shares python3 -c "$ob_code"
	else
		ob_shares sha256sum
	fi
}
ob_shares() {
	# shellcheck disable=SC2086
	xargs -0 -n "$ob_share" -P "$ob_some" $ob_nice "$@"
}
if [ -z "$ob_each" ]; then
	ob_sizes=$(stat -L -c '%s %n' "$@" 2>/dev/null)
	[ -n "$ob_sizes" ] || ob_sizes=$(wc -c "$@" 2>/dev/null)
	{ ob_large && ob_fast "$@"; } 2>/dev/null || $ob_hash "$@" 2>/dev/null
	printf '\000%s\n\000' "$ob_sizes"
else
	printf '\000\000'
fi
for ob_at in "$@"; do
	[ -f "$ob_at" ] || continue
	if [ -n "$ob_each" ]; then
		ob_size_of "$ob_at"
		# On its standard input a program meets no name.
		case $ob_at in
		./job.log | "./$ob_metrics") ob_digest=$(head -c "$ob_size" "$ob_at" | $ob_hash) ;;
		*) ob_digest=$($ob_hash <"$ob_at") ;;
		esac
		[ -n "$ob_digest" ] && [ -n "$ob_size" ] || ob_digest=- ob_size=-
	fi
	ob_mode=-
	[ ! -x "$ob_at" ] || ob_mode=x
	printf '%s %s %s %s\000' "${ob_digest%% *}" "$ob_size" "$ob_mode" "$ob_at"
done
