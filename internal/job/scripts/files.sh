# shellcheck shell=sh disable=SC2154
# Lists the regular files of the run directory, each name ended by a NUL. Links
# are not followed and not listed.
cd "$ob_run" || exit 1
find . \( -path ./.pod -o -path ./.claim \) -prune -o -type f -print0
