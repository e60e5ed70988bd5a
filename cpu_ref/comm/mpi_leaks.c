/* Under the address sanitizer: MPI leaves memory of its own behind, which is no leak of ours. Its libraries stay loaded
 * to the end, or the report could not name them. */
#ifdef __SANITIZE_ADDRESS__

int dlclose(void *library);
const char *__lsan_default_suppressions(void);

int dlclose(void *library) {
    (void)library;
    return 0;
}

const char *__lsan_default_suppressions(void) {
    return "leak:libmpi\nleak:libopen-\nleak:libpmix\nleak:libhwloc\nleak:libevent\nleak:/openmpi/\nleak:/pmix\n"
           "leak:vasprintf\n"; /* its caller is cut off: the libraries keep no frame pointer */
}

#else

typedef int td_no_leaks; /* a file of nothing is no C */

#endif
