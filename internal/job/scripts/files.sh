# shellcheck shell=sh disable=SC2154
# Lists the run directory: a line "size inode times name" for each large file, where
# the image can tell, and a NUL; the regular files, each name ended by a NUL, an empty
# name, the links. What a job's start leaves proves, in the same command, that this is
# the disk the job ran on. Exit status 3: no job ever did.
cd "$ob_run" || exit 1
{ ob_remove .pod/listed && printf '' >.pod/listed; } 2>/dev/null # from when the list is
find . \( -path ./.pod -o -path ./.claim \) -prune -o -type f -size +131071 -exec stat -c '%s %d:%i %y %z %n' {} + 2>/dev/null || :
printf '\000'
find . \( -path ./.pod -o -path ./.claim \) -prune -o -type f -print0 || exit 1
printf '\000'
find . \( -path ./.pod -o -path ./.claim \) -prune -o -type l -print0 || exit 1
[ -e .pod/launch ] || [ -e job.pid ] || exit 3
