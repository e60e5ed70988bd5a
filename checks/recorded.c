/* A recorded result is worth what it says of itself. */
#include "recorded.h"

td_status td_recorded_read(const char *path, td_record **out, td_error *err) {
    static const char *const needed[] = {"device", "driver", "date", "commit"};
    *out = NULL;
    td_status status = td_record_read_csv(out, path, err);
    for (size_t i = 0; !status && i < sizeof needed / sizeof *needed; i++) {
        const char *said = td_record_about_of(*out, needed[i]);
        if (!said || !said[0]) status = td_fail(err, TD_IO, "%.200s: does not say its %s", path, needed[i]);
    }
    if (!status && td_record_rows(*out) == 0) status = td_fail(err, TD_IO, "%.200s: has no rows", path);
    if (status) {
        td_record_delete(*out);
        *out = NULL;
    }
    return status;
}

char *td_recorded_label(const td_record *record, char *out, int size) {
    snprintf(out, (size_t)size, "Recorded, not measured here: %s, driver %s, on %.10s, commit %s.",
             td_record_about_of(record, "device"), td_record_about_of(record, "driver"),
             td_record_about_of(record, "date"), td_record_about_of(record, "commit"));
    return out;
}
