#!/usr/bin/env bash
# The examples of README and docs/agents.md are true: each command, run in a mount of the bundled samples, prints the lines below it.
. "$(dirname "$0")/lib.sh"
needs_mount
source=$archive
mount_source || exit 1
cd "$mnt" || exit 1

# In both documents, a command follows a `$ `, its output is below it, and each of these lines is indented by four spaces.
command='' want=
check() {
    local have
    if [ -z "$command" ]; then return; fi
    have=$(timeout 60 bash -c "$command" 2>&1)
    is "$have" "${want%$'\n'}" "the documents show the output of: ${command%%  *}"
    command='' want=
}
while IFS= read -r line; do
    case $line in
        '    $ '*) check; command=${line#'    $ '} ;;
        '    '*) [ -z "$command" ] || want+=${line#'    '}$'\n' ;;
        '') ;;
        *) check ;;
    esac
done < <(sed '/^## Install/q' "$top/README.md"; echo end; cat "$top/docs/agents.md"; echo end)
ok "there are at least twenty examples" test "$count" -ge 20
finish
