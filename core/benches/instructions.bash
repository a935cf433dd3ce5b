#!/usr/bin/env bash
# Instructions of the paths in instructions.rs against instructions.txt: 3 in 100 more fail, and so do 3
# less, so that the file stays true. `--bless` writes the file anew. Needs valgrind.
set -euo pipefail
cd "$(dirname "$0")/../.."
known=core/benches/instructions.txt
program=$(cargo bench -q -p berth-core --bench instructions --no-run --message-format json |
    python3 -c 'import json, sys
for line in sys.stdin:
    line = json.loads(line)
    if line.get("target", {}).get("name") == "instructions" and line.get("executable"):
        print(line["executable"])')
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*counted*' \
        "$program" "$1" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p; /panicked/,$p'
}
if [ "${1-}" = --bless ]; then
    for path in $("$program" --list); do
        echo "$path $(count "$path")"
    done | tee "$known"
    exit
fi
failed=0
while read -r path expected; do
    counted=$(count "$path")
    python3 - "$path" "$expected" "$counted" <<'END' || failed=1
import sys
path, expected, counted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
change = 100 * (counted - expected) / expected
print(f"{path:26} {counted:12} instructions, {change:+.2f} % to the {expected} known")
sys.exit(abs(change) > 3)
END
done <"$known"
if [ "$failed" = 1 ]; then
    echo "what changed on purpose is written down by core/benches/instructions.bash --bless" >&2
    exit 1
fi
