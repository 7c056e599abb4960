#!/usr/bin/env bash
# Ctrl-C ends the wait for a pass at once, a timer does not, and readers do not wait for other readers' passes.
. "$(dirname "$0")/lib.sh"
needs_mount

# A large trace makes the pass long. It consists of copies of a small trace's buffers, with other thread ids.
generate "$work/part" --steps 4000 --threads 4
python3 - "$work/part" "$src/big.xray" <<'P'
"""Repeats the buffers of a trace, each time with other thread and process ids: a trace 50 times as large."""
import struct, sys
data = open(sys.argv[1], "rb").read()
buffers, at = [], 32
while at < len(data):
    size = struct.unpack_from("<Q", data, at + 1)[0]
    buffers.append(data[at:at + 16 + size])
    at += 16 + size
with open(sys.argv[2], "wb") as out:
    out.write(data[:32])
    for turn in range(50):
        for buffer in buffers:
            tid = struct.unpack_from("<i", buffer, 17)[0] + 100 * turn
            out.write(buffer[:17] + struct.pack("<i", tid) + buffer[21:])
P
copy_sample
mount_source || exit 1
big=$mnt/big.xray/tables/trace.csv

pass=$(milliseconds stat "$big")
echo "# a whole pass takes $pass ms"
ok "the fixture's pass takes long enough to be interrupted" test "$pass" -ge 300
soon=$((pass / 2 + 50)) # milliseconds; on a busy machine the pass takes longer, too

cat >"$work/interrupt.py" <<'P'
"""Starts COMMAND, sends it SIGNAL after 100 ms, prints how many ms it then took to end, and how it ended."""
import signal, subprocess, sys, time
# Reset SIGINT: a shell starts background jobs with SIGINT ignored, and their children inherit that.
process = subprocess.Popen(["env", "--default-signal"] + sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(0.1)
if process.poll() is not None:
    sys.exit("ended before the signal")
start = time.monotonic()
process.send_signal(getattr(signal, sys.argv[1]))
process.wait(30)
print(int((time.monotonic() - start) * 1000))
P
# One success in five attempts is enough on a busy machine: a pass that cannot be interrupted never ends that early.
interrupted() {   # interrupted SIGNAL COMMAND...
    local try took
    for try in 1 2 3 4 5; do
        cold
        took=$(python3 "$work/interrupt.py" "$@")
        [ "${took:-9999}" -ge "$soon" ] || return 0
        echo "# it took ${took:-?} ms"
    done
    return 1
}
for signal in SIGINT SIGTERM SIGKILL; do
    ok "$signal ends a stat of a cold big file at once" interrupted $signal stat "$big"
done
ok "SIGINT ends a cat of a cold big file at once" interrupted SIGINT cat "$big"
ok "after interrupts the mount still answers" cmp <(tail -c 100 "$big") <("$PROFILEFS" cat "$src/big.xray/tables/trace.csv" | tail -c 100)

cold
ok "a program with a 1 ms timer can stat a cold file" timeout 120 python3 -c '
import os, signal, sys
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
signal.signal(signal.SIGALRM, tick)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
size = os.stat(sys.argv[1]).st_size
signal.setitimer(signal.ITIMER_REAL, 0)
sys.exit(not (size > 1000000 and ticks >= 1))' "$big"

# Two reads of one open picture, whose size is known; the second is interrupted while both wait for it to be drawn.
second_read_is_interrupted() {
    local try picture=$mnt/big.xray/export/timeline.svg
    for try in 1 2 3 4 5; do
        cold
        stat "$picture" >/dev/null || return 1
        python3 -c '
import mmap, os, re, signal, sys, time
picture, status = sys.argv[1:]
fd = os.open(picture, os.O_RDONLY | os.O_DIRECT)
def start_reader():
    reader = os.fork()
    if not reader:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.preadv(fd, [mmap.mmap(-1, 4096)], 0)
        os._exit(0)
    return reader
def both_wait():
    text = open(status).read()
    return re.search("running, 2 waiting: .*big.xray", text)
readers = start_reader(), start_reader()
while not both_wait():
    if os.waitpid(readers[0], os.WNOHANG)[0]:
        sys.exit("# drawn before both waited")
os.kill(readers[1], signal.SIGINT)
os.waitpid(readers[1], 0)
if os.waitpid(readers[0], os.WNOHANG)[0]:
    sys.exit("# the first read ended with the second")
os.kill(readers[0], signal.SIGKILL)' "$picture" "$mnt/.profilefs/status.txt" && return 0
    done
    return 1
}
ok "SIGINT ends the second of two reads of a picture" second_read_is_interrupted

# ---- readers do not wait for other readers' passes

cold
waiters=()
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    background timeout 100 stat "$big" >/dev/null
    waiters+=($!)
done
sleep 0.1
like "$(cat "$mnt/$heat/info.txt" "$mnt/.profilefs/status.txt" | tr '\n' ' ')" '^Format.*[0-9]+ ?%' \
    "info.txt of another profile is read while twelve wait for a cold pass, as status.txt tells"
like "$( (ls "$mnt/big.xray/tables" && cat "$mnt/.profilefs/status.txt") | tr '\n' ' ')" 'trace.csv.*[0-9]+ ?%' \
    "tables/ of a profile is listed while twelve wait for its cold pass"
kill "${waiters[@]}" 2>/dev/null
wait "${waiters[@]}" 2>/dev/null
sleep 1
busy() { awk '{ print $14 + $15 }' "/proc/$(server)/stat"; }
before=$(busy)
sleep 1
after=$(busy)
ok "a pass that nobody waits for any more stops" test $((after - before)) -lt 30

finish
