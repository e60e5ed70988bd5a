#!/bin/sh
# readme.sh [--check]: draw the README's plot from plots/recorded/, and write what stands between its markers: figures
# from the recorded CSV, lessons from the program. No figure in it is typed. --check only compares, and fails on a
# difference.
set -eu
recorded=plots/recorded/error_vs_block.csv

# One row a line of the table, one column a dtype, from the columns named in the CSV's own header.
figures() {
    awk -F, '
        /^#/ { split($0, about, ": "); fact[substr(about[1], 3)] = substr($0, length(about[1]) + 3); next }
        !width { for (width = NF; i++ < NF;) at[$i] = i; next }
        {
            dtype = $at["dtype"]; block = $at["block"] + 0; worst = $at["after_err_over_tol_max"]
            if (!(dtype in low)) { name[++count] = dtype; low[dtype] = block }
            if (block < low[dtype]) low[dtype] = block
            if (block > high[dtype]) high[dtype] = block
            before[dtype, block] = $at["before_median"]; after[dtype, block] = $at["after_median"]
            if (worst > used[dtype]) used[dtype] = worst
            setting = sprintf("%d queries, %d keys, d = %d, median of %d draws", $at["Tq"], $at["Tk"], $at["d"], $at["seeds"])
        }
        function row(title, values, blocks,    line, i) {
            line = "| " title " |"
            for (i = 1; i <= count; i++) line = line sprintf(" %.1e |", values[name[i], blocks[name[i]]])
            print line
        }
        END {
            line = "| relative L2 error of the output |"; rule = "|---|"; last = "| largest error / derived bound, any element |"
            for (i = 1; i <= count; i++) {
                line = line " " name[i] " |"; rule = rule "---|"; last = last sprintf(" %.2f |", used[name[i]])
            }
            print line; print rule
            row("key by key (block 1), before rounding it", before, low)
            row("all keys in one block, before rounding it", before, high)
            row("all keys in one block, after rounding it", after, high)
            print last
            printf "\n%s. Recorded on %s, %s, commit %s: [%s](%s).\n", setting, fact["device"], \
                substr(fact["date"], 1, 10), fact["commit"], "CSV", FILENAME
        }' "$recorded"
}

# The fastest rung of each operation and shape beside PyTorch's memory-efficient attention, from the same run.
peers() {
    awk -F, '
        /^#/ { split($0, about, ": "); fact[substr(about[1], 3)] = substr($0, length(about[1]) + 3); next }
        !width { for (width = NF; i++ < NF;) at[$i] = i; next }
        {
            op = $at["op"]; sub(/attention_/, "", op)
            mask = $at["mask"] == "none" ? "full" : "causal"
            key = op " | " $at["T"] " | " $at["d"] " | " mask
            if (!(key in best)) { name[++count] = key; best[key] = 0 }
            rate = $at["tflop_per_s"] + 0
            if ($at["variant"] == "sdpa_efficient") peer[key] = rate
            if ($at["variant"] ~ /^gpu_/ && rate > best[key]) { best[key] = rate; who[key] = $at["variant"]; ms[key] = $at["median_ms"] }
        }
        END {
            print "| pass | T | d | mask | fastest rung | ms | TFLOP/s | PyTorch, memory-efficient | ratio |"
            print "|---|---|---|---|---|---|---|---|---|"
            for (i = 1; i <= count; i++) {
                key = name[i]
                printf "| %s | `%s` | %.3g | %.1f | %.1f | %.2f |\n", key, who[key], ms[key], best[key], peer[key], best[key] / peer[key]
            }
            printf "\nfloat32 without TF32, medians, each pair in one run. Recorded on %s, driver %s, %s, %s, commit %s: [%s](%s).\n", \
                fact["device"], fact["driver"], fact["peers"], substr(fact["date"], 1, 10), fact["commit"], "CSV", FILENAME
        }' plots/recorded/gpu_peers.csv
}

lessons() {
    printf '| command | text | the pair |\n|---|---|---|\n'
    build/tandem lesson --help | sed -n 's/^  \([0-9][0-9]*\)  \(.*\)/\1|\2/p' | while IFS='|' read -r number concept; do
        folder=$(echo lessons/$(printf %02d "$number")_*)
        name=$(echo "${folder#lessons/??_}" | tr _ ' ')
        echo "| \`make lesson-$number\` | [$name]($folder/) | $concept |"
    done
}

# README.md with each part between <!-- NAME --> and <!-- /NAME --> written anew.
written() {
    figures >"$parts/figures"
    peers >"$parts/peers"
    lessons >"$parts/lessons"
    awk -v parts="$parts" '
        /^<!-- \/[a-z]* -->$/ { skip = 0 }
        !skip
        /^<!-- [a-z]* -->$/ { skip = 1; file = parts "/" $2; while ((getline line < file) > 0) print line }' README.md
}

parts=$(mktemp -d)
trap 'rm -r "$parts"' EXIT
written >"$parts/README.md"
if [ "${1-}" = --check ]; then
    diff -u README.md "$parts/README.md" >&2 || {
        echo 'README.md: not what is recorded: make readme writes it' >&2
        exit 1
    }
else
    for plot in error_vs_block gpu_peers; do
        gnuplot -e "csv='plots/recorded/$plot.csv'; out='plots/recorded/$plot.svg'; terminal='svg'; plots='plots'" plots/$plot.gp
    done
    cp "$parts/README.md" README.md
fi
