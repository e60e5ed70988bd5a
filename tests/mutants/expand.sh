#!/bin/sh
# expand.sh LESSON TO: LESSON is a folder of tests/mutants/submissions; TO, which exists, gets its submissions, each whole
# in a folder of its own. LESSON/BASE is a submission as it is, and each patch BASE/NAME.patch in it (what the mistake is;
# the lines of `expected`; `diff -up` against the base) makes the submission NAME of it.
# All of a patch must fit as it stands, and change something, or none of this counts: status 1.
set -u
lesson=$1 to=$2

fail() {
    echo "expand.sh: $1" >&2
    exit 1
}

# Written anew, not copied: they can be written to, even if the tree cannot, and a link becomes a file.
new_from_base() {
    mkdir "$to/$1" || fail "$1: cannot be made; is it twice in $lesson?"
    for file in "$base"/*; do
        case $file in
        *.patch) ;;
        *) cat "$file" >"$to/$1/${file##*/}" || fail "$file: cannot be copied" ;;
        esac
    done
}

for base in "$lesson"/*; do
    whole=${base##*/}
    new_from_base "$whole"
    for patch in "$base"/*.patch; do
        [ -e "$patch" ] || continue
        name=$(basename "$patch" .patch)
        new_from_base "$name"
        patch --silent --force --fuzz=0 --no-backup-if-mismatch --strip=0 --directory="$to/$name" <"$patch" >&2 ||
            fail "$patch: does not fit $base"
        diff -r "$to/$whole" "$to/$name" >/dev/null && fail "$patch: changes nothing"
        sed -n '/^[a-z]*: /p' "$patch" >"$to/$name/expected"
    done
done
