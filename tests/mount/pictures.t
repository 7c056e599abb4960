#!/usr/bin/env bash
# Pictures under export/ are well-formed for every sample, have exact sizes, and are rendered correctly by a browser.
. "$(dirname "$0")/lib.sh"

needs_mount
source=$archive mount_source || exit 1

cd "$mnt" || exit 1
behind export -name '*.svg' | sort >"$work/pictures"
ok "profiles have pictures ($(wc -l <"$work/pictures"))" test "$(wc -l <"$work/pictures")" -gt 50
ok "every metric has a flame graph" test "$(grep -c '/flame.svg$' "$work/pictures")" \
    -eq "$(find . -path '*/metrics/*' -name functions.csv | wc -l)"
ok "experiments show how they scale" grep -q '^cube/experiment/export/time/scaling.svg$' "$work/pictures"
ok "a profile with a time line has timeline.svg" grep -q '^spans/build.trace.json/export/timeline.svg$' "$work/pictures"

python3 - "$work/pictures" >"$work/found" <<'END'
import os, sys, xml.etree.ElementTree as tree
for path in open(sys.argv[1]).read().split("\n")[:-1]:
    size, data = os.stat(path).st_size, open(path, "rb").read()
    if size != len(data):
        print(path, "is", len(data), "bytes, not", size)
    if len(data) > 2_000_000:
        print(path, "is larger than 2 MB")
    if not tree.fromstring(data).tag.endswith("svg"):
        print(path, "is no picture")
END
is "$(cat "$work/found")" "" "all pictures are well-formed, at most 2 MB, and of exact size"

is "$(sed -n '/id="head"/,/<\/g>/s|.*>\(.*\)</text>|\1|p' 2026-03/*Ab12Cd/export/time/flame.svg)" \
    "time, ns: 109255721 (109.26 ms) total
xray 5: LLVM XRay log (flight data recorder, basic) or profiling-mode file
callers above callees; the width is the value, callees included" "the head of a picture gives metric, unit, total, format and title"
is "$(grep -o '>empty: [^<]*' scaling/heat.txt/export/time/flame.svg)" ">empty: the metric cannot be summed over contexts" \
    "an empty picture says why"
is "$(grep -c '[.]folded<' nightly/runs/export/*/runs.svg)" 12 "names of runs are shown in full in titles, the head and below the axis"
like "$(cat nightly/runs/export/*/runs.svg)" '>10</text>' "labels of runs show what differs in their names"

if command -v dot >/dev/null; then
    behind export -name callgraph.dot >"$work/graphs"
    while read -r graph; do
        dot -Tsvg "$graph" 2>&1 >"$work/graph.svg" | head -n 1
        [ "$(grep -c 'class="node"' "$work/graph.svg")" = "$(grep -c '^  n[0-9]* \[' "$graph")" ] || echo "$graph: not all nodes are drawn"
    done <"$work/graphs" >"$work/found"
    ok "every metric has a call graph" test "$(wc -l <"$work/graphs")" -eq "$(grep -c '/flame.svg$' "$work/pictures")"
    is "$(head -n 3 "$work/found")" "" "Graphviz draws all nodes of all call graphs"
else
    skip "Graphviz draws every call graph" "Graphviz is not installed"
fi

# A script to add to the picture: it acts like a user and records the third line of the picture's head.
cat >"$work/reader.js" <<'END'
setTimeout(() => {
  const notes = [], about = document.getElementById('about'), seen = e => e.getClientRects().length > 0;
  const note = what => notes.push(what + ': ' + about.textContent);
  const key = (key, ctrlKey) => window.dispatchEvent(new KeyboardEvent('keydown', {key, ctrlKey, cancelable: true}));
  const frame = name => Array.from(document.querySelectorAll('g > title')).map(e => e.parentNode)
    .find(e => seen(e) && e.textContent.startsWith(name)).querySelector('rect');
  const at = (name, event) => frame(name).dispatchEvent(new MouseEvent(event, {bubbles: true}));
  const top = () => Array.from(document.querySelectorAll('g > rect')).filter(e => seen(e) && e.getAttribute('y') === '60'
    && e.parentNode.textContent).map(e => e.parentNode.querySelector('title').textContent.split(' ')[0]).slice(0, 2).join(' ');
  const search = pattern => { window.prompt = () => pattern; key('f', true); };
  at('heat::solve', 'mouseover'); note('point');
  search('STENCIL'); note('search');
  key('c'); note('any case');
  search('('); note('invalid');
  search(''); note('nothing');
  notes.push('top: ' + top());
  key('i'); note('inverted'); notes.push('top: ' + top());
  at('heat::wait', 'click'); notes.push('click: ' + top() + ' ' + frame('heat::wait').getAttribute('width'));
  key('Escape'); notes.push('all: ' + top());
  key('i'); note('back');
  const element = document.createElementNS('http://www.w3.org/2000/svg', 'desc');
  element.textContent = '\n' + notes.join('\n') + '\n';
  document.documentElement.appendChild(element);
}, 0);
END
what="a flame graph in a browser answers pointer, click and keys"
if command -v chromium >/dev/null; then
    { sed '$d' 2026-03/*Ab12Cd/export/time/flame.svg; printf '<script><![CDATA['; cat "$work/reader.js"; echo ']]></script></svg>'; } \
        >"$work/flame.svg"
    timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --virtual-time-budget=3000 \
        --dump-dom "file://$work/flame.svg" >"$work/dom" 2>/dev/null
    is "$(sed -n '/<desc>/,/<\/desc>/p' "$work/dom" | sed '1d;$d')" "point: heat::solve(heat::Grid&amp;, int) (37094537.92 ns, 33.95%)
search: STENCIL: 0.00%
any case: STENCIL, in any case: 68.02%
invalid: (: invalid regular expression
nothing: callers above callees; the width is the value, callees included
top: heat::worker() main
inverted: inverted: exclusive values; callers below callees
top: heat::stencil_row(double*, heat::wait()
click: heat::wait() 1180
all: heat::stencil_row(double*, heat::wait()
back: callers above callees; the width is the value, callees included" "$what"
else
    skip "$what" "chromium is not installed"
fi
cd / || exit 1

finish
