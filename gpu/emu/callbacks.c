/* What -fsanitize=thread makes emulated code call at each load and store. */

void __tsan_init(void) {
}
