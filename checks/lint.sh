#!/bin/sh
# make lint: the sources read, not run. Every step is carried out before the verdict, so one run shows all there is.
set -u
for tool in cppcheck clang-format; do
    command -v $tool >/dev/null || {
        echo "lint: $tool is missing: make setup lint installs it" >&2
        exit 1
    }
done
folders=$(ls -d include cpu_ref gpu checks lessons tests 2>/dev/null)
# What is wrong on purpose, as a student would write it, is left as it is.
ours() {
    find $folders \( -path tests/cheats -o -path tests/mutants/submissions \) -prune -o "$@" -print
}
sources=$(ours -name '*.[ch]')
kernels=$(ours -name '*.cu' -o -name '*.cuh' -print)
verdict=0
step() {
    echo "  LINT $1"
    shift
    "$@" || verdict=1
}

# A header brings all that it needs: alone, it compiles as C and, for the GPU's side, as C++.
headers_stand_alone() {
    status=0
    for header in include/tandem/*.h; do
        ${CC:-cc} -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c "$header" || status=1
        command -v ${CXX:-g++} >/dev/null || continue
        ${CXX:-g++} -std=c++17 -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ "$header" || status=1
    done
    return $status
}

step format clang-format --dry-run -Werror $sources $kernels
step headers headers_stand_alone
step tree sh tests/tree.sh
step readme sh plots/readme.sh --check
step measured python3 checks/measured.py
# Of the headers it sees what C files include; those of kernels are C++.
# Not asked: log(0) is -infinity here and meant; whether a callee fills a buffer is what gcc and the sanitizers tell; NULL
# is a pointer on every POSIX system.
step cppcheck cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
    --inline-suppr --suppress=invalidFunctionArg --suppress=legacyUninitvar \
    --suppress=varFuncNullUB --library=tests/criterion.cfg -Iinclude $(printf '%s\n' $sources | grep '\.c$')
[ $verdict = 0 ] && echo 'lint: clean'
exit $verdict
