/* build/tandem itself: help everywhere, and what it does when its own output cannot be written. */
#include "../support.h"

Test(tandem, every_command_has_help) {
    support_result all, one;
    support_tandem(NULL, &all, "--help");
    cr_assert_eq(all.status, 0);
    int commands = 0;
    char name[32];
    for (const char *line = strstr(all.out, "\n\n"); line && sscanf(line, " %31s", name) == 1;
         line = strchr(line + 2, '\n')) {
        if (line[0] == '\n' && !line[1]) break;
        support_tandem(NULL, &one, name, "--help");
        cr_expect_eq(one.status, 0, "tandem %s --help: %s", name, one.err);
        cr_expect(!strncmp(one.out, "usage: tandem ", 14), "tandem %s --help: %s", name, one.out);
        cr_expect(strstr(one.out, name));
        commands++;
    }
    cr_assert_geq(commands, 3);
}

Test(tandem, what_is_no_command) {
    support_result result;
    support_tandem(NULL, &result, "train\x1b[2J");
    support_refused(&result, 2, "tandem: 'train?[2J': no such command");
    support_tandem(NULL, &result, "list", "T=4");
    support_refused(&result, 2, "tandem list: 'T=4': no such option; legal are none");
    support_tandem(NULL, &result, "lesson");
    support_refused(&result, 2, "N: not given");
    support_tandem(NULL, &result, "lesson", "99");
    support_refused(&result, 2, "'99': no such lesson; legal are ");
    support_run(NULL, &result, (char *[]){NULL});
    cr_expect_eq(result.status, 2);
}

Test(tandem, output_that_cannot_be_written_is_no_success) {
    support_result result;
    support_tandem(&(support_child){.stdout_path = "/dev/full"}, &result, "list");
    support_refused(&result, 3, "standard output: No space left on device");
    support_tandem(&(support_child){.stdout_path = ""}, &result, "list");
    support_refused(&result, 3, "standard output: Bad file descriptor");
}

Test(tandem, a_reader_that_leaves_ends_it_quietly) {
    char program[PATH_MAX], command[PATH_MAX + 64], text[256] = "";
    support_program(program);
    snprintf(command, sizeof command, "{ '%s' list 2>&1 >&3; echo $? >&2; } 3>&1 2>&1 | true", program);
    snprintf(command, sizeof command, "exec 3>&1; { sleep 0.1; '%s' list 2>&3; echo $? >&3; } | true", program);
    FILE *pipe = popen(command, "r");
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    pclose(pipe);
    cr_expect(!strcmp(text, "141\n") || !strcmp(text, "3\n"), "'%s'", text); /* SIGPIPE, or EPIPE where it is ignored */
}
