# shellcheck shell=sh disable=SC2154,SC2016
# The first thing that runs on a pod: claims the run's directory, writes the
# watchdog, brings up sshd with the run's keys and becomes the watchdog. Every
# failure after the watchdog is written ends in a guarded pod.
set -u
umask 077

ob_root=${OVERBRAINER_POD_ROOT:-}
ob_run=$ob_root${OVERBRAINER_RUN_DIR:?}
pod=$ob_run/.pod
etc=$ob_root/etc/overbrainer
claimed=0

say() {
	ob_text="$(date -u +%Y-%m-%dT%H:%M:%SZ) bootstrap: $1"
	printf '%s\n' "$ob_text"
	if [ "$claimed" = 1 ]; then
		{ printf '%s\n' "$ob_text" >>"$pod/bootstrap.log"; } 2>/dev/null
	fi
}

# become_watchdog: bash where this is bash, else sh.
become_watchdog() {
	unset OVERBRAINER_HOST_KEY OVERBRAINER_AUTHORIZED_KEY
	exec "${BASH:-sh}" "$etc/watchdog.sh"
}

# fail REASON: the reason is always a fixed text, never a variable's content.
fail() {
	ob_write "$pod/bootstrap_failed" "$1"
	say "failed: $1"
	OVERBRAINER_BOOT_FAILED=1
	OVERBRAINER_BOOT_REASON=$1
	export OVERBRAINER_BOOT_FAILED OVERBRAINER_BOOT_REASON
	[ -f "$etc/watchdog.sh" ] && become_watchdog
	printf 'overbrainer-verdict failed bootstrap: %s\n' "$1"
	exit 1
}

# new_pod: forgets what an earlier pod left in the directory (on a volume), but
# not what this very pod wrote before its container was restarted.
new_pod() {
	ob_who=${OVERBRAINER_ATTEMPT:-}/${OVERBRAINER_DEADLINE:-}
	ob_was=
	if [ -f "$pod/attempt" ]; then
		{ IFS= read -r ob_was || :; } 2>/dev/null <"$pod/attempt"
	fi
	if [ "$ob_was" != "$ob_who" ]; then
		rm -f "$pod/first_start" "$pod/lease" "$pod/seen" "$pod/snapshot_at" "$pod/cost_cap_at" "$pod/keep_until" || return 1
		ob_write "$pod/attempt" "$ob_who" || return 1
	else
		say "container restarted"
	fi
	rm -f "$pod/watchdog" "$pod/bootstrap_failed" "$pod/du.running" "$ob_root/run/sshd.started"
}

save_watchdog() {
	mkdir -p "$etc" || return 1
	write_watchdog >"$etc/watchdog.sh.tmp" || return 1
	mv -f "$etc/watchdog.sh.tmp" "$etc/watchdog.sh"
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

# save_environment: what the image gave, less what is ours or the provider's, as
# a file for sh; with a volume, where that is, and the caches on it.
save_environment() {
	mkdir -p "$etc" || return 1
	ob_names=$(tr '\n\000' ' \n' <"/proc/$$/environ" | LC_ALL=C sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p') || return 1
	{
		for ob_name in $ob_names; do
			case $ob_name in
			RUNPOD_* | OVERBRAINER_* | JUPYTER_* | PUBLIC_KEY | SSH_PUBLIC_KEY) continue ;;
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
	} >"$etc/job.env.tmp" || return 1
	mv -f "$etc/job.env.tmp" "$etc/job.env"
}

find_sshd() {
	for ob_at in "$(command -v sshd 2>/dev/null)" /usr/sbin/sshd /usr/local/sbin/sshd /sbin/sshd; do
		case $ob_at in
		/*) [ -x "$ob_at" ] && sshd=$ob_at && return 0 ;;
		esac
	done
	return 1
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
	(install_sshd) </dev/null >"$pod/install.log" 2>&1 &
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
	ssh=$ob_root/etc/ssh
	mkdir -p "$ssh" || return 1
	rm -f "$ssh"/ssh_host_* || return 1
	printf '%s' "$OVERBRAINER_HOST_KEY" | ob_decode >"$ssh/ssh_host_ed25519_key.tmp" || return 1
	read -r ob_head <"$ssh/ssh_host_ed25519_key.tmp" || return 1
	case $ob_head in
	"-----BEGIN "*) ;;
	*) rm -f "$ssh/ssh_host_ed25519_key.tmp" && return 1 ;;
	esac
	chmod 600 "$ssh/ssh_host_ed25519_key.tmp" || return 1
	printf '%s\n' "${OVERBRAINER_CLAIM:-}" >"$ssh/ssh_host_ed25519_key.pub" || return 1
	mv -f "$ssh/ssh_host_ed25519_key.tmp" "$ssh/ssh_host_ed25519_key"
}

install_authorized_key() {
	keys=$ob_root/root/.ssh
	[ -n "${OVERBRAINER_AUTHORIZED_KEY:-}" ] || return 1
	mkdir -p "$keys" 2>/dev/null || return 1
	chmod 700 "$keys" || return 1
	printf '%s\n' "$OVERBRAINER_AUTHORIZED_KEY" >"$keys/authorized_keys.tmp" || return 1
	mv -f "$keys/authorized_keys.tmp" "$keys/authorized_keys"
}

# start_sshd: with a configuration of our own, so that nothing the image says
# about sshd matters. A built-in server is only told that the keys are there.
start_sshd() {
	mkdir -p "$ob_root/run" || return 1
	if [ "${OVERBRAINER_SSHD:-}" = builtin ]; then
		: >"$ob_root/run/sshd.started"
		return
	fi
	mkdir -p "$ob_root/run/sshd" || return 1
	chmod 755 "$ob_root/run/sshd" || return 1
	# sshd refuses a key for a locked account; root's password stays unusable.
	if grep -q '^root:!' "$ob_root/etc/shadow" 2>/dev/null; then
		sed -i 's/^root:!*:/root:*:/' "$ob_root/etc/shadow"
	fi
	ob_number "${OVERBRAINER_SSHD_PORT:-}" 22
	cat >"$etc/sshd_config" <<SSHD || return 1
Port $ob_n
HostKey "$ob_root/etc/ssh/ssh_host_ed25519_key"
AuthorizedKeysFile "$ob_root/root/.ssh/authorized_keys"
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
X11Forwarding no
PrintMotd no
PrintLastLog no
MaxSessions 64
MaxStartups 64
UseDNS no
PidFile "$ob_root/run/overbrainer-sshd.pid"
Subsystem sftp internal-sftp
SetEnv SHLVL=1
SSHD
	# bash reads root's .bashrc for every command unless it thinks that it runs
	# in another shell. An old sshd does not know the option and goes without.
	"$sshd" -t -f "$etc/sshd_config" 2>/dev/null || sed -i '/^SetEnv /d' "$etc/sshd_config"
	"$sshd" -f "$etc/sshd_config"
}

main() {
	ob_claim "$ob_run" "${OVERBRAINER_CLAIM:-}"
	ob_claimed=$?
	if [ "$ob_claimed" != 0 ]; then
		# Whatever lies there stays as it is.
		ob_run=$ob_root/root/overbrainer-refused-run
		pod=$ob_run/.pod
		ob_watch_dir=$ob_run
		export ob_watch_dir
	fi
	mkdir -p "$pod" 2>/dev/null
	claimed=1
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
