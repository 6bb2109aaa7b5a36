#!/bin/sh
# Installs what the tests need and this machine lacks: the real OpenSSH server
# and client, the shells that the pod's scripts must run under, shellcheck,
# PostgreSQL, rsync to compare with.
# Needs apt and root (or sudo) only when something is missing.
set -eu

# program:package
wanted='
sshd:openssh-server
ssh:openssh-client
ssh-keygen:openssh-client
bash:bash
dash:dash
busybox:busybox
shellcheck:shellcheck
curl:curl
chromium:chromium
python3:python3
openssl:openssl
groff:groff-base
fish:fish
setpriv:util-linux
unshare:util-linux
ip:iproute2
tar:tar
rsync:rsync
'

# PostgreSQL's programs are in no directory of PATH on Debian.
postgres() {
	command -v initdb >/dev/null 2>&1 && return
	for program in /usr/lib/postgresql/*/bin/initdb; do
		[ -x "$program" ] && return
	done
	return 1
}

PATH=$PATH:/usr/sbin:/sbin
missing=
for pair in $wanted; do
	program=${pair%%:*}
	package=${pair#*:}
	if ! command -v "$program" >/dev/null 2>&1; then
		missing="$missing $package"
	fi
done
postgres || missing="$missing postgresql"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: missing and no apt-get here, please install:$missing" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "setup: missing, and neither root nor sudo to install:$missing" >&2
		exit 1
	fi
	sudo=sudo
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# A daemon that the package would start is none of our business.
# shellcheck disable=SC2086 # a list of package names
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
