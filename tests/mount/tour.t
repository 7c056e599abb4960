#!/usr/bin/env bash
# README's tour is true: each of its lines, run over the bundled samples, prints what stands below it.
. "$(dirname "$0")/lib.sh"
needs_mount
source=$archive
mount_source || exit 1
cd "$mnt" || exit 1

# Commands stand behind a prompt, their output below, all indented by four.
command='' want=
check() {
    local have
    if [ -z "$command" ]; then return; fi
    have=$(timeout 60 bash -c "$command" 2>&1)
    is "$have" "${want%$'\n'}" "${command%%  *}"
    command='' want=
}
while IFS= read -r line; do
    case $line in
        '    $ '*) check; command=${line#'    $ '} ;;
        '    '*) want+=${line#'    '}$'\n' ;;
        '') ;;
        *) check ;;
    esac
done < <(sed -n '/^## A tour/,/^## Install/p' "$top/README.md")
ok "five questions and more" test "$count" -ge 10
finish
