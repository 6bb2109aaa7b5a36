# shellcheck shell=sh
# Runpod's part of the watchdog: proves that this pod can end itself, and ends
# it. Uses curl and the pod's own environment; the key goes to curl on its
# standard input, never on a command line. Runs in bash, dash and busybox sh,
# with or without set -eu.

# runpod_ready tells whether there is a usable key and pod ID.
runpod_ready() {
	case ${RUNPOD_API_KEY:-} in '' | *[!A-Za-z0-9._-]*) return 1 ;; esac
	case ${RUNPOD_POD_ID:-} in '' | *[!A-Za-z0-9_-]*) return 1 ;; esac
}

# runpod_call METHOD PATH [JSON] sets runpod_code, 000 without an answer,
# runpod_body, and runpod_curl to what curl exited with.
runpod_call() {
	runpod_url=${OVERBRAINER_API_URL:-https://api.runpod.io/v2}
	runpod_curl=0
	runpod_out=$(
		{
			printf 'header = "Authorization: Bearer %s"\n' "$RUNPOD_API_KEY"
			printf 'user-agent = "overbrainer-watchdog/%s"\n' "${OVERBRAINER_VERSION:-unknown}"
		} | if [ $# -gt 2 ]; then
			curl -q -s -m 10 --max-filesize 1000000 -K - -X "$1" -H 'Content-Type: application/json' -d "$3" \
				-w '\n%{http_code}' "${runpod_url%/}$2" 2>/dev/null
		else
			curl -q -s -m 10 --max-filesize 1000000 -K - -X "$1" -w '\n%{http_code}' "${runpod_url%/}$2" 2>/dev/null
		fi
	) || runpod_curl=$?
	runpod_code=${runpod_out##*"
"}
	runpod_body=${runpod_out%"
"*}
	case $runpod_code in [1-5][0-9][0-9]) ;; *) runpod_code=000 ;; esac
}

# runpod_unknown tells whether a 404 says that the pod does not exist. Only the
# API's own form does; a proxy's page says nothing.
runpod_unknown() {
	runpod_flat=$(printf '%s' "$runpod_body" | tr -d ' \t\r\n')
	case $runpod_flat in '{'*) ;; *) return 1 ;; esac
	case $runpod_flat in
	*'"status":404'[!0-9]*) return 0 ;;
	*'"status":'[0-9]*) return 1 ;;
	*'"title":'* | *'"detail":'*) return 0 ;;
	esac
	return 1
}

provider_probe() {
	if ! runpod_ready; then
		echo missing_key
		return 0
	fi
	if ! command -v curl >/dev/null 2>&1; then
		echo no_curl
		return 0
	fi
	# A key that may look need not be one that may delete. Starting a pod that runs
	# is what the API refuses whoever may act on it with 409, having done nothing,
	# and whoever may not with 403.
	runpod_call POST "/pods/$RUNPOD_POD_ID/action" '{"action":"start"}'
	case $runpod_code in
	200 | 400 | 409)
		echo ready
		return 0
		;;
	401 | 403)
		runpod_refused=$runpod_code
		runpod_call GET "/pods/$RUNPOD_POD_ID"
		if [ "$runpod_code" = 200 ]; then
			echo read_only_key
			return 0
		fi
		runpod_code=$runpod_refused
		;;
	esac
	case $runpod_code in
	000)
		# 60 and 77: curl has nothing to know the API's certificate by.
		case $runpod_curl in
		60 | 77) echo no_certificates ;;
		*) echo unreachable ;;
		esac
		;;
	*) echo "http_$runpod_code" ;;
	esac
}

# provider_delete FAILED: FAILED deletes in a row came to nothing before. A
# stopped pod is left without a guard and goes on costing its disk, so stopping
# is for when deleting fails again and again, not for an API that is away for a
# moment.
provider_delete() {
	if runpod_ready && command -v curl >/dev/null 2>&1; then
		runpod_call DELETE "/pods/$RUNPOD_POD_ID"
		echo "DELETE $runpod_code"
		case $runpod_code in
		200 | 202 | 204) return 0 ;;
		404) if runpod_unknown; then return 0; fi ;;
		esac
		for runpod_action in terminate stop; do
			[ "$runpod_action" = terminate ] || [ "${1:-0}" -ge 3 ] || break
			runpod_call POST "/pods/$RUNPOD_POD_ID/action" "{\"action\":\"$runpod_action\"}"
			echo "$runpod_action $runpod_code"
			case $runpod_code in 200 | 202 | 204) return 0 ;; esac
		done
	fi
	if command -v runpodctl >/dev/null 2>&1 && [ -n "${RUNPOD_POD_ID:-}" ]; then
		# The newer form of the command, then the one that images carry.
		if runpod_ctl pod delete "$RUNPOD_POD_ID" || runpod_ctl remove pod "$RUNPOD_POD_ID"; then
			echo "runpodctl ok"
			return 0
		fi
		echo "runpodctl failed"
	fi
	return 1
}

runpod_ctl() {
	if command -v timeout >/dev/null 2>&1; then
		timeout 20 runpodctl "$@" >/dev/null 2>&1 </dev/null
	else
		runpodctl "$@" >/dev/null 2>&1 </dev/null
	fi
}
