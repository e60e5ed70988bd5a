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

# The fastest rung of 16 bits in each of the twelve cells, beside the peers, from the same run; nothing before it is
# recorded.
sixteen=plots/recorded/gpu_peers_16bit.csv
matrix() {
    [ -e $sixteen ] || return 0
    echo '![TFLOP/s against T, forward: each rung of 16 bits, PyTorch, Triton](plots/recorded/gpu_peers_16bit.svg)'
    echo '![The same backward](plots/recorded/gpu_peers_backward.svg)'
    echo '![Their errors against float64](plots/recorded/gpu_peers_error.svg)'
    echo
    awk -F, '
        /^#/ { split($0, about, ": "); fact[substr(about[1], 3)] = substr($0, length(about[1]) + 3); next }
        !width { for (width = NF; i++ < NF;) at[$i] = i; next }
        $at["dtype"] == "bf16" && $at["B"] * $at["T"] == 16384 {
            op = $at["op"]; sub(/attention_/, "", op)
            mask = $at["mask"] == "none" ? "full" : "causal"
            key = op " | " $at["d"] " | " $at["T"] " | " mask
            if (!(key in best)) { name[op, ++count[op]] = key; best[key] = 0 }
            rate = $at["tflop_per_s"] + 0
            if ($at["variant"] !~ /^gpu_/) peer[key, $at["variant"]] = rate
            else if (rate > best[key]) { best[key] = rate; who[key] = $at["variant"] }
        }
        END {
            print "| pass | d | T | mask | fastest rung | TFLOP/s | cuDNN | FlashAttention-2 | Triton | / cuDNN |"
            print "|---|---|---|---|---|---|---|---|---|---|"
            for (i = 1; i <= count["forward"] + count["backward"]; i++) {
                key = i <= count["forward"] ? name["forward", i] : name["backward", i - count["forward"]]
                cudnn = peer[key, "sdpa_cudnn"]
                printf "| %s | `%s` | %.0f | %.0f | %.0f | %.0f | %.2f |\n", key, who[key], best[key], cudnn, \
                    peer[key, "sdpa_flash2"], peer[key, "triton"], cudnn ? best[key] / cudnn : 0
            }
            printf "\nbf16, 16384 tokens, heads times d = 2048, medians of the card'"'"'s time, all in one run. Recorded on %s, driver %s, %s, %s, commit %s: [%s](%s).\n", \
                fact["device"], fact["driver"], fact["peers"], substr(fact["date"], 1, 10), fact["commit"], "CSV", FILENAME
        }' $sixteen
}

# A training step of GPU ranks: each scheme, bucketed at its best cap, and PyTorch's DDP at its best, from the same run.
ranks() {
    awk -F, '
        FNR == 1 { width = 0 }
        /^#/ { split($0, about, ": "); fact[substr(about[1], 3)] = substr($0, length(about[1]) + 3); next }
        !width { for (width = NF; i++ < NF;) at[$i] = i; i = 0; next }
        function keep(who, how, step,    key) {
            if (!(who in best)) { name[++count] = who; best[who] = step + 1 }
            if (step < best[who]) { best[who] = step; note[who] = how }
        }
        "scheme" in at && FILENAME ~ /gpu_ranks/ {
            cap = $at["cap_bytes"] / 1048576
            keep($at["scheme"], sprintf("%s | %d | %.2f | %.3f", cap ? cap " MiB" : "", $at["buckets"], $at["bound_ms"], \
                $at["step_ms"] / $at["bound_ms"]), $at["step_ms"] + 0)
            setting = sprintf("Forward, backward and reduction of %.0f million gradients on %d GPUs: %d layers, C %d, %d x %d " \
                "tokens a rank, %s products", $at["parameters"] / 1e6, $at["ranks"], $at["layers"], $at["C"], $at["B"], $at["T"], $at["products"])
            next
        }
        $at["peer"] == "DDP" { keep("PyTorch DDP, eager", $at["cap_mb"] " MB |  |  | ", $at["step_ms"] + 0) }
        END {
            print "| scheme | bucket | all-reduces | bound, ms | step / bound | step, ms |"
            print "|---|---|---|---|---|---|"
            for (k = 1; k <= count; k++) printf "| %s | %s | %.2f |\n", name[k], note[name[k]], best[name[k]]
            printf "\n%s; the best bucket size of each. Recorded on %s, driver %s, %s, %s, commit %s: [CSV](%s).\n", setting, \
                fact["device"], fact["driver"], fact["peers"], substr(fact["date"], 1, 10), fact["commit"], ARGV[1]
        }' plots/recorded/gpu_ranks.csv plots/recorded/gpu_ddp_peers.csv
}

# AdamW beside PyTorch's, from the same run.
adam() {
    awk -F, '
        /^#/ { split($0, about, ": "); fact[substr(about[1], 3)] = substr($0, length(about[1]) + 3); next }
        !width {
            for (width = NF; i++ < NF;) at[$i] = i
            print "| AdamW, float32 | step, ms | on the device alone, ms | GB/s | of a copy |"
            print "|---|---|---|---|---|"
            next
        }
        {
            printf "| `%s` | %.2f | %.2f | %.0f | %.1f %% |\n", $at["variant"], $at["step_ms"], $at["device_ms"], \
                $at["gb_per_s"], $at["copy_percent"]
            setting = sprintf("%.0f million parameters in %d tensors", $at["parameters"] / 1e6, $at["tensors"])
        }
        END {
            printf "\n%s, 28 bytes each; a step begins on an idle card. Recorded on %s, driver %s, %s, %s, commit %s: [CSV](%s).\n", \
                setting, fact["device"], fact["driver"], fact["peers"], substr(fact["date"], 1, 10), fact["commit"], FILENAME
        }' plots/recorded/gpu_adam_peers.csv
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
    matrix >"$parts/matrix"
    ranks >"$parts/ranks"
    adam >"$parts/adam"
    lessons >"$parts/lessons"
    awk -v parts="$parts" '
        /^<!-- \/[a-z]* -->$/ { skip = 0 }
        !skip
        /^<!-- [a-z]* -->$/ { skip = 1; file = parts "/" $2; while ((getline line < file) > 0) print line }' README.md
}

# draw PLOT CSV
draw() {
    gnuplot -e "csv='$2'; out='plots/recorded/$1.svg'; terminal='svg'; plots='plots'" "plots/$1.gp"
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
    draw error_vs_block "$recorded"
    draw gpu_peers plots/recorded/gpu_peers.csv
    for plot in gpu_peers_16bit gpu_peers_backward gpu_peers_error; do
        [ ! -e $sixteen ] || draw $plot $sixteen
    done
    cp "$parts/README.md" README.md
fi
