/* tests/mutants/expand.sh: every patch of tests/mutants/submissions fits, and one that is not exact is refused. */
#include "../support.h"
#include <criterion/parameterized.h>

Test(submissions, can_all_be_made_whole) {
    char printed[2000];
    int status =
        support_shell("to=$(mktemp -d) && for lesson in tests/mutants/submissions/*; do "
                      "mkdir $to/${lesson##*/} && sh tests/mutants/expand.sh $lesson $to/${lesson##*/}; done 2>&1; "
                      "find $to -name '*.patch' -o -type l -o -empty; rm -r $to",
                      printed, sizeof printed);
    cr_assert(status == 0 && !*printed, "%s", printed);
}

/* What is done to a small lesson, of the numbers 1 to 9 and a patch for 5, and what is then made of it or said. */
struct change {
    char plant[160];
    int status;
    char said[100];
};

ParameterizedTestParameters(submissions, a_small_lesson) {
    static struct change changes[] = {
        {"true", 0, "a.c expected 1 2 3 4 5 6 7 8 9 loses: no\na.c expected 1 2 3 4 V 6 7 8 9 loses: yes names: a\n"},
        {"mv lesson/right/a.c . && ln -s $PWD/a.c lesson/right && chmod -R a-w lesson", 0, "expected 1 2 3 4 V 6"},
        {"sed -i '1i 0' lesson/right/a.c", 0, "a.c expected 0 1 2 3 4 V 6"},
        {"sed -i s/2/II/ lesson/right/a.c", 1, "wrong.patch: does not fit lesson/right"},
        {"sed -i s/5/V/ lesson/right/a.c", 1, "wrong.patch: does not fit lesson/right"},
        {"sed -i s/+V/+5/ lesson/right/wrong.patch", 1, "wrong.patch: changes nothing"},
        {"sed -i '/^---/,$d' lesson/right/wrong.patch", 1, "wrong.patch: does not fit lesson/right"},
        {"mv lesson/right/a.c lesson/right/b.c", 1, "wrong.patch: does not fit lesson/right"},
        {"cp -r lesson/right lesson/right_too", 1, "wrong: cannot be made; is it twice in lesson?"},
    };
    return cr_make_param_array(struct change, changes, sizeof changes / sizeof *changes);
}

ParameterizedTest(struct change *change, submissions, a_small_lesson) {
    char command[2000], printed[2000];
    snprintf(
        command, sizeof command,
        "exec 2>&1; expand=$PWD/tests/mutants/expand.sh work=$(mktemp -d) && cd $work && mkdir -p lesson/right made && "
        "seq 9 >lesson/right/a.c && echo loses: no >lesson/right/expected && "
        "{ printf 'Five.\\n\\nloses: yes\\nnames: a\\n\\n--- a.c\\n+++ a.c\\n' && sed s/5/V/ lesson/right/a.c | "
        "diff -u lesson/right/a.c - | tail -n +3; } >lesson/right/wrong.patch && %s && "
        "sh $expand lesson made && ! find made -type l -o ! -perm -u+w | grep . && for name in right wrong; do "
        "echo $(cd made/$name && ls && cat *); done; status=$?; chmod -R u+w $work; rm -r $work; exit $status",
        change->plant);
    int status = support_shell(command, printed, sizeof printed);
    cr_assert_eq(status, change->status, "%s: %s", change->plant, printed);
    cr_assert(strstr(printed, change->said), "%s: %s", change->plant, printed);
}
