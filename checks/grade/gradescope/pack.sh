#!/bin/sh
# pack.sh LESSON=N|all [SECRET=n] [OUT=dir]: OUT/gradescope-lesson-N.zip for each lesson, as Gradescope takes it: setup.sh
# and run_autograder at its root, this tree in tandem/, and in `grading` how to grade. Hidden cases are drawn anew for each
# submission; with SECRET= they are the same for all. Students never see the image that is made of it.
set -eu
lesson= secret= out=out
stop() {
    echo "gradescope-zip: $1" >&2
    exit 2
}
exercises=$(ls -d lessons/[0-9]*/exercise 2>/dev/null | sed 's/[^0-9]*0*\([0-9]*\).*/\1/')
legal=$(echo $exercises)
for given; do
    case $given in
    LESSON=*) lesson=${given#*=} ;;
    SECRET=*) secret=${given#*=} ;;
    OUT=*) out=${given#*=} ;;
    *) stop "'$given': no such option; legal are LESSON, SECRET, OUT" ;;
    esac
done
known=
for n in $exercises all; do
    [ "$lesson" = "$n" ] && known=yes
done
[ "$known" ] || stop "LESSON=$lesson: must be one of $legal, or all"
case $secret in
*[!0-9]*) stop "SECRET=$secret: must be an integer, 0 or more" ;;
esac
[ "$lesson" = all ] || exercises=$lesson
mkdir -p "$out"
out=$(cd "$out" && pwd)

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
trap 'exit 1' INT TERM
mkdir -p "$stage/tandem/tests"
parts='Makefile README.md LICENSE include cpu_ref gpu checks lessons plots'
if [ -n "$(git ls-files Makefile 2>/dev/null)" ]; then
    git ls-files -z $parts
    git describe --always --dirty --abbrev=12 >"$stage/commit"
else
    find $parts -type f -print0
    echo unknown >"$stage/commit"
fi | tar --null -T - -cf "$stage/tree.tar"
tar -xf "$stage/tree.tar" -C "$stage/tandem"
rm "$stage/tree.tar"
cp checks/grade/gradescope/setup.sh checks/grade/gradescope/run_autograder "$stage"
chmod 755 "$stage/setup.sh" "$stage/run_autograder"

for n in $exercises; do
    zip=$out/gradescope-lesson-$n.zip
    (umask 077 && echo "LESSON=$n${secret:+ SECRET=$secret}" >"$stage/grading")
    rm -f "$zip.tmp"
    (umask 077 && cd "$stage" && python3 -m zipfile -c "$zip.tmp" setup.sh run_autograder commit grading tandem) ||
        stop "$zip: cannot be written"
    mv "$zip.tmp" "$zip"
    echo "  zip: $zip"
done
