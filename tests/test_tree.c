/* tests/tree.sh: this tree keeps the rules of the house, and a tree that breaks one is refused. */
#include "support.h"
#include <criterion/parameterized.h>

Test(tree, keeps_the_rules) {
    char printed[2000];
    int status = support_shell("sh tests/tree.sh 2>&1", printed, sizeof printed);
    cr_assert_eq(status, 0, "%s", printed);
}

/* What is done to a small tree that keeps the rules, and what must be said of it. */
struct violation {
    char plant[240], said[80];
};

ParameterizedTestParameters(tree, refuses) {
    static struct violation planted[] = {
        {"mkdir scripts", "scripts: not one of"},
        {"echo '#include \"../checks/a.h\"' >cpu_ref/b.c", "cpu_ref/b.c:1: cpu_ref/ includes ../checks/a.h of checks/"},
        {"echo '  # include \"../../checks/a.h\"' >cpu_ref/deep/b.c", "cpu_ref/ includes ../../checks/a.h of checks/"},
        {"echo '#include \"../lessons/a.h\"' >checks/b.h", "checks/ includes ../lessons/a.h of lessons/"},
        {"echo '#include \"../tests/a.h\"' >lessons/b.c", "lessons/ includes ../tests/a.h of tests/"},
        {"echo '#include \"../../cpu_ref/a.h\"' >include/tandem/b.h",
         "include/ includes ../../cpu_ref/a.h of cpu_ref/"},
        {"echo '    exit(1);' >checks/b.c", "checks/b.c:1:    exit(1);: the library exits"},
        {"yes '' | head -401 >tests/b.c", "tests/b.c: 401 lines"},
        {"echo 'Run `make setup lesson-9 paint`.' >>README.md", "make paint: no such target"},
        {"echo '    make lesson-9 varnish T=1' >>README.md", "make varnish: no such target"},
        {"echo '[x](plots/x.png)' >>README.md", "plots/x.png: does not exist"},
    };
    return cr_make_param_array(struct violation, planted, sizeof planted / sizeof *planted);
}

ParameterizedTest(struct violation *violation, tree, refuses) {
    char command[2000], printed[2000];
    snprintf(
        command, sizeof command,
        "here=$PWD tree=$(mktemp -d) && cd $tree && mkdir -p include/tandem cpu_ref/deep checks lessons tests "
        "&& printf 'setup:\\nlesson-%%%%: all\\n' >Makefile && touch include/tandem/a.h cpu_ref/a.h checks/a.h "
        "lessons/a.h tests/a.h && echo '[one](lessons/): `make setup lesson-1`' >README.md "
        "&& sh \"$here\"/tests/tree.sh && { %s; } && sh \"$here\"/tests/tree.sh; status=$?; rm -r $tree; exit $status",
        violation->plant);
    int status = support_shell(command, printed, sizeof printed);
    cr_assert_eq(status, 1, "%s: %s", violation->plant, printed);
    cr_assert(strstr(printed, violation->said), "%s: %s", violation->plant, printed);
}
