# shellcheck shell=sh
# This provider's part of the watchdog. A pod of this machine needs no key and
# no network to end itself: it tells the program that holds it.

provider_probe() {
	case ${OVERBRAINER_LOCAL_HOLDER:-} in
	'' | *[!0-9]*) echo missing_key ;;
	*) if kill -0 "$OVERBRAINER_LOCAL_HOLDER" 2>/dev/null; then echo ready; else echo unreachable; fi ;;
	esac
}

provider_delete() {
	case ${OVERBRAINER_LOCAL_HOLDER:-} in '' | *[!0-9]*) return 1 ;; esac
	if kill -s TERM "$OVERBRAINER_LOCAL_HOLDER" 2>/dev/null; then
		echo "TERM sent"
		return 0
	fi
	echo "TERM not sent"
	return 1
}
