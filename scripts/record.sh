#!/bin/sh
# Records docs/transcript.md anew: plan, apply and destroy of examples/sweep on
# the simulator, in a terminal of 80 columns without colours. Needs tmux.
# Usage: record.sh BINARY [FILE]
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
binary=$(realpath "$1")
page=${2:-$here/docs/transcript.md}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/overbrainer-record.XXXXXX")
terminal="tmux -f /dev/null -S $scratch/tmux"

finish() {
	status=$?
	$terminal kill-server 2>/dev/null || true
	(cd "$scratch/sweep" && "$binary" sim stop >/dev/null 2>&1) || true
	rm -rf "$scratch"
	exit "$status"
}
mkdir -p "$scratch/home" "$scratch/bin"
cp -R "$here/examples/sweep" "$scratch/sweep"
ln -s "$binary" "$scratch/bin/overbrainer"
export HOME="$scratch/home" XDG_STATE_HOME="$scratch/home/state" NO_COLOR=1 PATH="$scratch/bin:$PATH"
unset TMUX
trap finish EXIT

screen() { $terminal capture-pane -p | sed -e 's/[[:space:]]*$//' -e '/./,$!d'; }

# await PATTERN: until the screen shows it; prints the screen as it is then.
await() {
	tries=600
	until screen >"$scratch/screen" && grep -q -e "$1" "$scratch/screen"; do
		tries=$((tries - 1))
		if [ "$tries" = 0 ]; then
			echo "record: the screen never showed $1" >&2
			cat "$scratch/screen" >&2
			exit 1
		fi
		sleep 0.1
	done
	cat "$scratch/screen"
}

# begin COMMAND...: a fresh screen that says so when the command has ended.
$terminal new-session -d -x 80 -y 250 sleep 600
begin() {
	$terminal respawn-pane -k -c "$scratch/sweep" "overbrainer $*; echo \"(ended with \$?)\"; sleep 600"
}

# trim: up to the command's end, without blank lines there.
trim() { awk '/^\(ended with/ { exit } { line[++n] = $0 } /./ { last = n } END { for (i = 1; i <= last; i++) print line[i] }'; }

block() {
	printf '\n```text\n'
	[ $# = 0 ] || printf '$ overbrainer %s\n' "$*"
	cat
	printf '```\n'
}

{
	cat <<'TEXT'
# Transcript

[examples/sweep](../examples/sweep), four runs under one budget, on the
simulator, in a terminal of 80 columns without colours; `make transcript` records
it anew. The plan changes nothing:
TEXT
	begin plan
	await '^(ended with 0)' | trim | block plan
	printf '\n%s\n' 'Apply shows the same plan, and asks:'
	begin apply
	await '^Only yes goes on' | sed -n '/^Go on/,$p' | trim >"$scratch/question"
	$terminal send-keys yes Enter
	await '  step 1[0-9][0-9]/' | sed -n '/^run[^ ]*  [0-9a-z]*  /,$p' | trim >"$scratch/live"
	await '^(ended with 0)' | sed -n '/^Only yes goes on/,$p' | trim >"$scratch/apply"
	sed 's/^\(Only yes goes on:\).*/\1 yes/' "$scratch/question" | block apply
	printf '\n%s\n' 'While the jobs train, what each is at is drawn over and over:'
	block <"$scratch/live"
	printf '\n%s\n' 'What has happened stands above them, here without what the jobs say:'
	sed -e 1d -e '/^run[^ ]* | /d' "$scratch/apply" | block
	printf '\n%s\n' 'What is there is not done again:'
	begin plan
	await '^(ended with 0)' | trim | block plan
	printf '\n%s\n' 'Nothing is left to pay for, and destroy forgets the rest:'
	begin destroy
	await '^Only yes goes on\|^(ended with 0)' >/dev/null
	$terminal send-keys yes Enter
	await '^(ended with 0)' | trim | block destroy
} >"$scratch/page"
mv "$scratch/page" "$page"
