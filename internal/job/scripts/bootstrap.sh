# shellcheck shell=sh disable=SC2154,SC2034,SC2016
# The first thing that runs on a pod: claims the run's directory, writes the
# watchdog, brings up sshd with the run's keys and becomes the watchdog. Every
# failure after the watchdog is written ends in a guarded pod. To assign to a variable
# of the image's changes what is exported, and so what the job gets: until its
# environment is saved only names that begin with ob_ are.
set -u
umask 077

ob_root=${OVERBRAINER_POD_ROOT:-}
ob_run=$ob_root${OVERBRAINER_RUN_DIR:?}
ob_pod=$ob_run/.pod
ob_etc=$ob_root/etc/overbrainer
ob_ssh=$ob_root/etc/ssh
ob_keys=$ob_root/root/.ssh
ob_ours=0
ob_watch_dir= # an image may not lead the watchdog elsewhere

say() {
	ob_clock %Y-%m-%dT%H:%M:%SZ
	ob_text="$ob_now bootstrap: $1"
	printf '%s\n' "$ob_text"
	if [ "$ob_ours" = 1 ]; then
		{ printf '%s\n' "$ob_text" >>"$ob_pod/bootstrap.log"; } 2>/dev/null
	fi
}

# become_watchdog: bash where this is bash, else sh.
become_watchdog() {
	unset OVERBRAINER_HOST_KEY OVERBRAINER_AUTHORIZED_KEY
	exec "${BASH:-sh}" "$ob_etc/watchdog.sh"
}

# fail REASON: the reason is always a fixed text, never a variable's content. What
# the image lacks is added to it, by lacks, which is programs.sh.
fail() {
	OVERBRAINER_BOOT_REASON=$1
	ob_fields=$IFS
	IFS=$ob_lines
	for ob_none in $(lacks); do
		OVERBRAINER_BOOT_REASON="$OVERBRAINER_BOOT_REASON; the image has no $ob_none"
	done
	IFS=$ob_fields
	OVERBRAINER_BOOT_FAILED=1
	export OVERBRAINER_BOOT_FAILED OVERBRAINER_BOOT_REASON
	ob_write "$ob_pod/bootstrap_failed" "$OVERBRAINER_BOOT_REASON"
	say "failed: $OVERBRAINER_BOOT_REASON"
	[ -f "$ob_etc/watchdog.sh" ] && become_watchdog
	printf 'overbrainer-verdict failed bootstrap: %s\n' "$OVERBRAINER_BOOT_REASON"
	exit 1
}

# new_pod: forgets what an earlier pod left in the directory (on a volume), but
# not what this very pod wrote before its container was restarted.
new_pod() {
	ob_who=${OVERBRAINER_ATTEMPT:-}/${OVERBRAINER_DEADLINE:-}
	ob_was=
	if [ -f "$ob_pod/attempt" ]; then
		{ IFS= read -r ob_was || :; } 2>/dev/null <"$ob_pod/attempt"
	fi
	if [ "$ob_was" != "$ob_who" ]; then
		ob_remove "$ob_pod/first_start" "$ob_pod/lease" "$ob_pod/seen" "$ob_pod/snapshot_at" "$ob_pod/cost_cap_at" "$ob_pod/keep_until" || return 1
		ob_write "$ob_pod/attempt" "$ob_who" || return 1
	else
		say "container restarted"
	fi
	ob_remove "$ob_pod/watchdog" "$ob_pod/bootstrap_failed" "$ob_pod/du.running" "$ob_root/run/sshd.started"
}

# make_places: the directories of everything below, by one program. Whether they
# are there shows when something is written to them. New ones are root's alone.
make_places() {
	[ ! -d "$ob_keys" ] || chmod 700 "$ob_keys"
	[ ! -d "$ob_root/run/sshd" ] || chmod 755 "$ob_root/run/sshd"
	mkdir -p "$ob_pod" "$ob_etc" "$ob_ssh" "$ob_keys" "$ob_root/run/sshd"
} 2>/dev/null

save_watchdog() {
	write_watchdog >"$ob_etc/watchdog.sh.tmp" || return 1
	mv -f "$ob_etc/watchdog.sh.tmp" "$ob_etc/watchdog.sh"
}

# exported NAME VALUE: commands for sh that give a variable exactly this value.
# The x at the end keeps trailing line breaks.
exported() {
	case $2 in
	*"'"*) printf "ob_value='%s'\n" "$(printf '%sx' "$2" | LC_ALL=C sed "s/'/'\\\\''/g")" ;;
	*) printf "ob_value='%sx'\n" "$2" ;;
	esac
	printf 'export %s="${ob_value%%x}"\n' "$1"
}

# names: the exported variables. bash lists them without a program.
names() {
	# shellcheck disable=SC3044
	[ -n "${BASH_VERSION:-}" ] && compgen -e 2>/dev/null && return 0
	tr '\n\000' ' \n' <"/proc/$$/environ" | LC_ALL=C sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'
}

# save_environment: what the image gave, less what is ours or the provider's, as
# a file for sh; with a volume, where that is, and the caches on it. It is
# written in its place, as the keys are: nobody reads them before sshd runs.
save_environment() {
	ob_names=$(names) || return 1
	{
		for ob_name in $ob_names; do
			case $ob_name in
			*[!A-Za-z0-9_]*) continue ;;
			ob_* | RUNPOD_* | OVERBRAINER_* | JUPYTER_* | PUBLIC_KEY | SSH_PUBLIC_KEY) continue ;;
			_ | PWD | OLDPWD | SHLVL | IFS | UID | EUID | PPID | BASHOPTS | SHELLOPTS | BASH_VERSINFO) continue ;;
			esac
			eval "ob_value=\${$ob_name-}"
			exported "$ob_name" "$ob_value"
		done
		if [ -n "${OVERBRAINER_VOLUME_DIR:-}" ]; then
			exported OVERBRAINER_VOLUME_DIR "$ob_root$OVERBRAINER_VOLUME_DIR"
			ob_cache=$ob_root$OVERBRAINER_VOLUME_DIR/.cache
			for ob_name in PIP_CACHE_DIR:pip UV_CACHE_DIR:uv HF_HOME:huggingface; do
				exported "${ob_name%%:*}" "$ob_cache/${ob_name#*:}"
			done
		fi
	} >"$ob_etc/job.env"
}

find_sshd() {
	ob_fields=$IFS
	IFS=:
	for ob_at in $PATH:/usr/sbin:/usr/local/sbin:/sbin; do
		ob_sshd=$ob_at/sshd
		case $ob_sshd in
		/*) [ -f "$ob_sshd" ] && [ -x "$ob_sshd" ] && break ;;
		esac
		ob_sshd=
	done
	IFS=$ob_fields
	[ -n "$ob_sshd" ]
}

install_sshd() {
	if command -v apt-get >/dev/null 2>&1; then
		DEBIAN_FRONTEND=noninteractive
		export DEBIAN_FRONTEND
		apt-get update && apt-get install -y --no-install-recommends openssh-server
	elif command -v apk >/dev/null 2>&1; then
		apk add --no-cache openssh-server
	elif command -v dnf >/dev/null 2>&1; then
		dnf install -y openssh-server
	else
		return 1
	fi
}

# need_sshd: finds sshd, or installs it within a bounded time.
need_sshd() {
	[ "${OVERBRAINER_SSHD:-}" != builtin ] || return 0
	find_sshd && return 0
	[ "${OVERBRAINER_INSTALL_SSHD:-1}" != 0 ] || return 1
	say "sshd is not in the image, installing openssh-server"
	(install_sshd) </dev/null >"$ob_pod/install.log" 2>&1 &
	ob_installer=$!
	ob_number "${OVERBRAINER_INSTALL_WAIT:-}" 180
	ob_left=$ob_n
	while kill -0 "$ob_installer" 2>/dev/null && [ "$ob_left" -gt 0 ]; do
		sleep 1
		ob_left=$((ob_left - 1))
	done
	kill "$ob_installer" 2>/dev/null
	find_sshd
}

# install_host_key: 2 = the provider did not fill in the secret.
install_host_key() {
	case ${OVERBRAINER_HOST_KEY:-} in
	"" | *[!A-Za-z0-9+/=]*) return 2 ;;
	esac
	ob_remove "$ob_ssh"/ssh_host_* || return 1
	ob_key=$ob_ssh/ssh_host_ed25519_key
	printf '%s' "$OVERBRAINER_HOST_KEY" | ob_decode >"$ob_key" || return 1
	read -r ob_head <"$ob_key" || return 1
	case $ob_head in
	"-----BEGIN "*) ;;
	*) rm -f "$ob_key" && return 1 ;;
	esac
	printf '%s\n' "${OVERBRAINER_CLAIM:-}" >"$ob_key.pub"
}

install_authorized_key() {
	[ -n "${OVERBRAINER_AUTHORIZED_KEY:-}" ] || return 1
	ob_remove "$ob_keys/authorized_keys" || return 1
	{ printf '%s\n' "$OVERBRAINER_AUTHORIZED_KEY" >"$ob_keys/authorized_keys"; } 2>/dev/null
}

# locked: whether root's account is, so that sshd refuses its key.
locked() {
	while IFS=: read -r ob_name ob_word ob_rest; do
		case $ob_name:$ob_word in
		'root:!'*) return 0 ;;
		root:*) return 1 ;;
		esac
	done 2>/dev/null <"$ob_root/etc/shadow"
	return 1
}

# start_sshd: with a configuration of our own, so that nothing the image says
# about sshd matters. A built-in server is only told that the keys are there.
start_sshd() {
	if [ "${OVERBRAINER_SSHD:-}" = builtin ]; then
		: >"$ob_root/run/sshd.started"
		return
	fi
	# root's password stays unusable.
	! locked || sed -i 's/^root:!*:/root:*:/' "$ob_root/etc/shadow"
	ob_number "${OVERBRAINER_SSHD_PORT:-}" 22
	# bash reads root's .bashrc for every command unless it thinks that it runs
	# in another shell. An old sshd does not know SetEnv, refuses to start, and
	# goes without.
	printf '%s\n' "Port $ob_n" \
		"HostKey \"$ob_ssh/ssh_host_ed25519_key\"" \
		"AuthorizedKeysFile \"$ob_keys/authorized_keys\"" \
		'PermitRootLogin prohibit-password' \
		'PubkeyAuthentication yes' \
		'PasswordAuthentication no' \
		'KbdInteractiveAuthentication no' \
		'StrictModes no' \
		'UsePAM no' \
		'X11Forwarding no' \
		'PrintMotd no' \
		'PrintLastLog no' \
		'MaxSessions 64' \
		'MaxStartups 64' \
		'UseDNS no' \
		"PidFile \"$ob_root/run/overbrainer-sshd.pid\"" \
		'Subsystem sftp internal-sftp' \
		'SetEnv SHLVL=1' >"$ob_etc/sshd_config" || return 1
	"$ob_sshd" -f "$ob_etc/sshd_config" 2>/dev/null && return 0
	sed -i '/^SetEnv /d' "$ob_etc/sshd_config"
	"$ob_sshd" -f "$ob_etc/sshd_config"
}

main() {
	ob_claim "$ob_run" "${OVERBRAINER_CLAIM:-}"
	ob_claimed=$?
	if [ "$ob_claimed" != 0 ]; then
		# Whatever lies there stays as it is.
		ob_run=$ob_root/root/overbrainer-refused-run
		ob_pod=$ob_run/.pod
		ob_watch_dir=$ob_run
		export ob_watch_dir
	fi
	make_places
	ob_ours=1
	say "run ${OVERBRAINER_RUN_ID:-unknown}"
	save_watchdog || fail "the watchdog cannot be written"
	case $ob_claimed in
	0) ;;
	2) fail "the run directory belongs to another run" ;;
	*) fail "the run directory cannot be made" ;;
	esac
	new_pod || fail "the run directory cannot be written"
	save_environment || fail "the image's environment cannot be saved"
	need_sshd || fail "sshd is missing in the image and could not be installed"
	install_host_key
	case $? in
	0) ;;
	2) fail "the host key's secret was not filled in" ;;
	*) fail "the host key cannot be installed" ;;
	esac
	install_authorized_key || fail "the authorized key cannot be installed"
	unset OVERBRAINER_HOST_KEY OVERBRAINER_AUTHORIZED_KEY
	start_sshd || fail "sshd cannot be started"
	say "sshd started"
	become_watchdog
}
