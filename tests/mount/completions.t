#!/usr/bin/env bash
# Runs the completions in the shells themselves: types a line and presses Tab.
. "$(dirname "$0")/lib.sh"

copy_sample
mkdir "$src/bin" "$src/sub"
ln -s "$PROFILEFS" "$src/bin/profilefs"
printf 'notes\n' >"$src/sub/notes.txt"
cp "$archive/2026-03/$heat" "$src/sub/run.xray"
export PATH=$src/bin:$PATH
cd "$src/sub"

# typed SHELL TEXT: prints the line after Tab in an interactive shell, which has a terminal of its own.
typed() {
    timeout 60 python3 - "$top/docs/completions" "$1" "$2" <<'P'
"""Types into a shell, presses Tab and prints the completed line, which the shell then echoes."""
import os, pty, re, select, subprocess, sys, time
folder, shell, text = sys.argv[1:]
commands = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1=; bind 'set enable-bracketed-paste off'; . %s/profilefs.bash\n" % folder),
    "zsh": (["zsh", "-f", "-i"], "PS1=; unset zle_bracketed_paste; unsetopt prompt_sp; fpath=(%s $fpath); autoload -U compinit; compinit -u -D\n" % folder),
}
argv, start = commands[shell]
master, slave = pty.openpty()
process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=dict(os.environ, TERM="dumb", HOME=os.getcwd()))
os.close(slave)

def until(pattern):
    got, end = b"", time.monotonic() + 40
    while time.monotonic() < end and not re.search(pattern, got):
        if select.select([master], [], [], 0.1)[0]:
            got += os.read(master, 65536)
    return got.decode(errors="replace")

os.write(master, start.encode() + b"echo rea''dy\n")
until(rb"ready\r?\n")
# The line becomes the arguments of a function that prints them between brackets.
os.write(master, b"shown() { printf '<%s>' \"$@\"; echo '|e''nd'; }\n")
os.write(master, b"echo rea''dy2\n")
until(rb"ready2\r?\n")
os.write(master, text.encode() + b"\t")
time.sleep(3)
# `!` at the end, `shown` in front, Enter: prints the words. After a blank, `!` is a separate word.
os.write(master, b"!\x01shown \x05\n")
said = until(rb"\|end")
found = re.findall(r"(<[^\r\n]*>)\|end", said)
print(found[-1] if found else "nothing: " + said[-300:])
process.kill()
P
}

for shell in bash zsh; do
    if ! command -v $shell >/dev/null; then
        skip "completions of $shell" "not installed"
        continue
    fi
    # Each call of typed waits some seconds for its shell, so all run at once.
    for text in ch "ls ru" "cat run.xray/tab" "cat run.xray/inf" "cat no" "ls run.xray/con"; do
        typed $shell "profilefs $text" >"$work/$shell.${text//[ \/]/_}" &
    done
    wait
    is "$(cat "$work/$shell.ch")" "<profilefs><check><!>" "$shell completes a command"
    is "$(cat "$work/$shell.ls_ru")" "<profilefs><ls><run.xray/!>" "$shell completes a profile as a folder, without a blank"
    is "$(cat "$work/$shell.cat_run.xray_tab")" "<profilefs><cat><run.xray/tables/!>" "$shell completes inside a profile"
    is "$(cat "$work/$shell.cat_run.xray_inf")" "<profilefs><cat><run.xray/info.txt><!>" \
        "$shell adds a blank after a file inside a profile"
    is "$(cat "$work/$shell.ls_run.xray_con")" "<profilefs><ls><run.xray/contexts/!>" "$shell completes a link to a folder as a folder"
    is "$(cat "$work/$shell.cat_no")" "<profilefs><cat><notes.txt><!>" "$shell completes a file that is no profile"
done
if command -v fish >/dev/null; then
    fishes() { HOME=$work fish -c "source '$top/docs/completions/profilefs.fish'; complete -C '$1'" 2>/dev/null | cut -f1 | sort | tr '\n' ' '; }
    is "$(fishes "profilefs ch")" "check " "fish completes a command"
    is "$(fishes "profilefs ls ru")" "run.xray/ " "fish completes a profile as a folder"
    is "$(fishes "profilefs ls run.xray/con")" "run.xray/contexts/ " "fish completes a link to a folder as a folder"
    is "$(fishes "profilefs cat run.xray/tab")" "run.xray/tables/ " "fish completes inside a profile"
else
    skip "completions of fish" "not installed"
fi
finish
