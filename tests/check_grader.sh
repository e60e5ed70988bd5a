#!/bin/sh
# check_grader.sh TANDEM [NAME…]: the grader graded. For each lesson its reference solution, its skeleton and what
# expand.sh makes of tests/mutants/submissions/lesson_N; then tests/cheats, in each tier that isolates and works here.
# NAME: only these (lesson_3, cheats). Each folder says in `expected` what must come of it, a line each:
#     loses: yes | no             a check fails and costs points, or none does (less speed is no failure)
#     names: a b | unknown        the mistakes that may be named (one must be), or none; "unknown a": none, or a
#     both: a b                   made at once: both must be named, or neither (with a line of names: both)
#     status: crashed|timed out   its verdict, one of these
#     points: 0 | at most X | at least X | all
# Cheats try to leave a file /tmp/tandem-cheat*, to change /tmp/tandem-canary, and to leave processes behind.
set -u
tandem=$1
shift
wanted=${*:-all}
work=$(mktemp -d)
canary=/tmp/tandem-canary
trap 'rm -rf "$work" $canary' EXIT
trap 'exit 1' INT TERM
verdict=0
began=$(date +%s)

is_wanted() {
    case " $wanted " in *" all "* | *" $1 "*) return 0 ;; esac
    return 1
}

# judge NAME FOLDER CSV: a line a submission, those that are not as expected marked; the last line counts.
judge() {
    awk -F, -v name="$1" -v folder="$2" '
        function plain(cell) { gsub(/^"|"$/, "", cell); return cell }
        function wrong(why) { fault = fault (fault ? "; " : "") why }
        function judge_both(two,    n, given, i) {
            n = split(mistakes, given, " ")
            for (i = 1; i <= n; i++) if (index(" " two " ", " " given[i] " ") == 0) wrong("named " given[i] "; made were " two)
            if (n != 0 && n != split(two, given, " ")) wrong("named " mistakes "; made were " two)
            asked = 1
        }
        function judge_names(allowed,    list, given, i, n, k, one) {
            n = split(mistakes, given, " ")
            list = " " allowed " "
            if (n == 0 && list !~ / unknown /) wrong("not named; expected " allowed)
            for (i = 1; i <= n; i++) if (index(list, " " given[i] " ") == 0) wrong("named " given[i] "; expected " allowed)
            asked = 1
        }
        /^#/ { next }
        !width { for (width = NF; i++ < NF;) at[$i] = i; next }
        {
            submission = plain($at["submission"]); points = $at["points"]; most = $at["max"]
            is = tolower($at["verdict"]); mistakes = " " plain($at["mistakes"]) " "
            sub(/ unknown /, " ", mistakes); gsub(/^ +| +$/, "", mistakes)
            file = folder "/" submission "/expected"; fault = ""; lines = asked = 0; rows++
            while ((getline line < file) > 0) {
                lines++; value = line; sub(/^[a-z]*: */, "", value)
                if (line ~ /^loses: yes$/) { if (points >= most || is == "pass") wrong("lost nothing") }
                else if (line ~ /^loses: no$/) { if (is != "pass") wrong("lost points") }
                else if (line ~ /^points: all$/) { if (points < most || most == 0) wrong("points") }
                else if (line ~ /^names: ./) judge_names(value)
                else if (line ~ /^both: ./) judge_both(value)
                else if (line ~ /^status: ./) { if (index("|" value "|", "|" is "|") == 0) wrong("expected " value) }
                else if (line ~ /^points: at most [0-9.]+$/) { sub(/at most /, "", value); if (points > value + 0) wrong("points") }
                else if (line ~ /^points: at least [0-9.]+$/) { sub(/at least /, "", value); if (points < value + 0) wrong("points") }
                else if (line ~ /^points: [0-9.]+$/) { if (points != value + 0) wrong("points") }
                else wrong("cannot read \"" line "\"")
            }
            close(file)
            if (lines == 0) wrong("no expected")
            if (asked && mistakes) named++
            else if (asked) unknown++
            if (fault) faults++
            printf "%s %-40s %5.4g of %-4g %-13s %4.0f s  %s%s\n", fault ? "FAIL" : "ok  ", submission, points, most, is, \
                $at["seconds"], mistakes, fault ? "  <- " fault : ""
        }
        END {
            printf "%s: %d submissions, %d named, %d unknown, %d not as expected\n\n", name, rows, named, unknown, faults
            exit faults || !rows
        }' "$3"
}

# grade NAME FOLDER TIER [LESSON=N]
grade() {
    name=$1 folder=$2 tier=$3
    shift 3
    "$tandem" grade-class SUBMISSIONS="$folder" OUT="$work/out_$name" TIER="$tier" "$@" >"$work/said" 2>&1 || {
        cat "$work/said"
        verdict=1
    }
    [ -f "$work/out_$name/class.csv" ] && judge "$name" "$folder" "$work/out_$name/class.csv" || verdict=1
}

# The lesson's submissions, its solution and its skeleton, in one folder.
gather() {
    mkdir "$1" "$1/the_skeleton"
    sh tests/mutants/expand.sh "tests/mutants/submissions/lesson_$2" "$1" || exit 1
    cp -r "$3/solution" "$1/the_solution"
    chmod -R u+w "$1/the_solution" # the tree may be read-only
    echo 'points: all' >"$1/the_solution/expected"
    cp "$3"/*.c "$3"/*.cu "$1/the_skeleton" 2>/dev/null
    echo 'points: 0' >"$1/the_skeleton/expected"
}

for exercise in lessons/[0-9]*/exercise; do
    number=$(echo "$exercise" | sed 's/[^0-9]*0*\([0-9]*\).*/\1/')
    is_wanted "lesson_$number" || continue
    gather "$work/lesson_$number" "$number" "$exercise"
    grade "lesson_$number" "$work/lesson_$number" best "LESSON=$number"
done

for tier in bubblewrap uid; do
    is_wanted cheats || continue
    why=$("$tandem" grade SUBMISSION=tests OUT="$work/probe" TIER=$tier 2>&1 >/dev/null | grep '^tandem grade:') && {
        echo "SKIP: cheats in tier $tier: $why"
        continue
    }
    printf 'untouched\n' >$canary
    chmod 666 $canary
    rm -f /tmp/tandem-cheat*
    grade "cheats_$tier" tests/cheats $tier
    [ "$(cat $canary)" = untouched ] || { echo "FAIL: a cheat in tier $tier has changed $canary" && verdict=1; }
    [ -z "$(ls -d /tmp/tandem-cheat* 2>/dev/null)" ] || { echo "FAIL: a cheat in tier $tier has left a file in /tmp" && verdict=1; }
done
echo "check-grader: $([ $verdict = 0 ] && echo all as expected || echo FAIL), $(($(date +%s) - began)) s"
exit $verdict
