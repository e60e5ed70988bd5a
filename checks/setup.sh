#!/bin/sh
# Install what is missing, and say so; with nothing missing, say nothing. `setup.sh lint` adds what `make lint` needs;
# `setup.sh grade` leaves out what grading does not.
# What counts is whether a thing works, not whether a package is there: one built by hand is as good.
set -u

works() {
    case $1 in
    compiler) printf '#include <stdio.h>\nint main(void) { return 0; }\n' | ${CC:-cc} -fopenmp -x c - -o /dev/null ;;
    c++) printf 'int main() { return 0; }\n' | ${CXX:-g++} -std=c++20 -fopenmp -x c++ - -o /dev/null ;;
    mpi) command -v mpicc && command -v mpirun ;;
    bwrap | make | pkg-config | patch | gnuplot | cppcheck | clang-format) command -v "$1" ;;
    *) ${PKG_CONFIG:-pkg-config} --exists "$1" ;;
    esac >/dev/null 2>&1
}

# what | Debian's package | why
needs='compiler|build-essential|a C compiler with OpenMP
c++|g++|a C++ compiler, for the GPU kernels under the emulator
make|make|runs the build
pkg-config|pkg-config|finds the libraries
patch|patch|makes wrong submissions of right ones, to grade the grader with
criterion|libcriterion-dev|runs the tests
gnuplot|gnuplot-nox|draws the plots
jansson|libjansson-dev|writes JSON
hwloc|libhwloc-dev|tells the sizes of the caches
openblas|libopenblas-dev|the peer that CPU kernels are timed beside
mpi|libopenmpi-dev openmpi-bin|starts ranks, and carries what they say to each other
bwrap|bubblewrap|keeps a submission away from all else
libseccomp|libseccomp-dev|keeps a submission from calling the system'
[ "${1-}" = lint ] && needs="$needs
cppcheck|cppcheck|finds faults without running the code
clang-format|clang-format|keeps one layout"
[ "${1-}" = grade ] && needs=$(printf '%s\n' "$needs" | grep -vE '^(criterion|gnuplot|openblas|mpi|patch)[|]')

missing() {
    printf '%s\n' "$needs" | while IFS='|' read -r what package why; do
        works "$what" || printf '%s|%s|%s\n' "$what" "$package" "$why"
    done
}

lacking=$(missing)
[ -z "$lacking" ] && exit 0
packages=$(printf '%s\n' "$lacking" | cut -d'|' -f2 | tr '\n' ' ')
packages=${packages% }

# Without these two a submission is graded in a weaker sandbox, which every report names.
leave() {
    if printf '%s\n' "$lacking" | grep -qvE '^(bwrap|libseccomp)[|]'; then exit 1; fi
    echo 'setup: going on without: submissions are then graded in a weaker sandbox' >&2
    exit 0
}
stop() {
    echo "setup: $1" >&2
    leave
}

if ! command -v apt-get >/dev/null; then
    echo 'setup: this system has no apt-get, so please install what is missing with its own package manager:' >&2
    printf '%s\n' "$lacking" | while IFS='|' read -r what package why; do
        printf '  %-13s %s (in Debian: %s)\n' "$what" "$why" "$package" >&2
    done
    leave
fi

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    stop "installing needs root, and there is no sudo; as root: apt-get install $packages"
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >/dev/null
}
install() {
    apt install --no-install-recommends -y $packages
}
# The package lists are fetched only when they do not name a package, or are so old that it cannot be downloaded.
listed() {
    for package in $packages; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

echo "setup: installing $packages"
listed && install || { apt update && install; } || stop "apt-get could not install $packages; its message stands above"
still=$(missing)
[ -z "$still" ] || stop "installed, yet not found: $(printf '%s\n' "$still" | cut -d'|' -f1 | tr '\n' ' ')"
echo "setup: installed"
