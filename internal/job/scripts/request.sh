# shellcheck shell=sh disable=SC2154
# Asks the job for a snapshot; prints the reason that stands then.
umask 077
if [ ! -d "$ob_run" ]; then
	printf 'the run directory %s is not there\n' "$ob_run" >&2
	exit 1
fi
if [ "$ob_overwrite" = 1 ] || [ ! -e "$ob_run/snapshot.request" ]; then
	if ! ob_write "$ob_run/snapshot.request" "$ob_reason"; then
		printf 'snapshot.request cannot be written\n' >&2
		exit 1
	fi
	ob_snapshot_signal
	printf 'new\n'
fi
head -c 1024 "$ob_run/snapshot.request"
