/* Files out of reach where there is no namespace: Landlock (Linux 5.13 and later) needs no privilege, and holds for all
 * that is executed from here on. */
#include "jail.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(SYS_landlock_create_ruleset) && __has_include(<linux/landlock.h>)
#include <linux/landlock.h>

/* Everything that the first version of Landlock knows. */
static const unsigned long long everything = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
static const unsigned long long of_file =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE;
static const unsigned long long read_only =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

/* What is not there needs no rule. */
static int let(int rules, const char *path, unsigned long long rights) {
    struct stat st;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0) return 0;
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode)) rule.allowed_access &= of_file;
    int failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0;
    int reason = failed ? -errno : 0;
    close(rule.parent_fd);
    return reason;
}

int td_jail_fence(char *paths) {
    struct landlock_ruleset_attr handled = {.handled_access_fs = everything};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0) return -errno;
    int failed = let(rules, ".", everything);
    if (!failed) failed = let(rules, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
    for (char *rest, *path = strtok_r(paths, ":", &rest); path && !failed; path = strtok_r(NULL, ":", &rest))
        failed = let(rules, path, read_only);
    if (!failed && syscall(SYS_landlock_restrict_self, rules, 0) != 0) failed = -errno;
    close(rules);
    return failed;
}

#else

int td_jail_fence(char *paths) {
    (void)paths;
    return -ENOSYS;
}

#endif
