#!/bin/sh
# tree.sh [ROOT]: the rules of the house that no compiler knows. Prints each violation; status 1 if there is any.
# tests/test_tree.c runs it on this tree, and on small wrong ones that it must refuse.
set -u
cd "${1:-.}" || exit 2
violations=$(
    # Top level: these names and dotfiles, and what git ignores there.
    for entry in *; do
        case $entry in
        Makefile | README.md | LICENSE | include | cpu_ref | gpu | checks | lessons | plots | tests | build | out | mine) ;;
        *) echo "$entry: not one of the top level's names" ;;
        esac
    done

    sources=$(find include cpu_ref gpu checks lessons tests -type f -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null)

    # Includes point one way, down this list; a path is taken from the file's own folder, else from include/.
    awk '
        BEGIN { split("include cpu_ref gpu checks lessons tests", order); for (i in order) rank[order[i]] = i }
        function top(path,    part, n, i, kept) { # the first folder of a path, after its ".."s
            n = split(path, part, "/"); kept = 0
            for (i = 1; i <= n; i++) if (part[i] == "..") kept--; else part[++kept] = part[i]
            return part[1]
        }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\""); folder = FILENAME; sub(/[^\/]*$/, "", folder)
            to = system("test -e " folder quoted[2]) == 0 ? top(folder quoted[2]) : "include"
            from = top(FILENAME)
            if (rank[to] > rank[from]) print FILENAME ":" FNR ": " from "/ includes " quoted[2] " of " to "/"
        }' $sources /dev/null

    # Library code returns a status; only main exits.
    grep -nE '(^|[^A-Za-z0-9_])(exit|abort)[ ]*\(' $(printf '%s\n' $sources | grep -E '^(include|cpu_ref|gpu|checks)/') /dev/null |
        sed 's/$/: the library exits/'

    # One idea a file.
    wc -l $sources /dev/null | awk '$2 != "total" && $1 > 400 { print $2 ": " $1 " lines, more than 400" }'

    # The README speaks of what exists: each make target it names, each file it links to.
    targets=" $(sed -n 's/^\([a-z%-]*\):.*/\1/p' Makefile | tr '\n' ' ') "
    for goal in $(grep -oE '(^|`) *make [^`#]*' README.md | sed 's/.*make //' | tr ' ' '\n' | grep -E '^[a-z][a-z0-9-]*$' |
        sed 's/-[0-9]*$/-%/' | sort -u); do
        case $targets in *" $goal "*) ;; *) echo "README.md: make $goal: no such target" ;; esac
    done
    for file in $(grep -oE '\]\([^)#:]+\)' README.md | sed 's/^](//; s/)$//'); do
        [ -e "$file" ] || echo "README.md: $file: does not exist"
    done

    # What a lesson says on the screen stands in its lesson.md: each section that its code asks for exists.
    for lesson in $(ls -d lessons/[0-9]* 2>/dev/null); do
        cat $lesson/*.c 2>/dev/null | grep -oE 'td_lesson_text\([0-9]+, "[^"]*"' | sed 's/^[^"]*"//; s/"$//' |
            while read -r heading; do
                grep -qxF "## $heading" $lesson/lesson.md || echo "$lesson/lesson.md: has no section '## $heading'"
            done
    done
)
[ -z "$violations" ] && exit 0
printf '%s\n' "$violations"
exit 1
