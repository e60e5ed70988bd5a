/* What lessons that start ranks share: a folder where ranks leave what they found, and what becomes of a failed run. */
#ifndef TANDEM_LESSONS_STARTED_H
#define TANDEM_LESSONS_STARTED_H

#include "../checks/arguments.h"
#include "../checks/launch.h"
#include "../checks/record.h"
#include <limits.h>

/* A new folder <out>/lesson-N/.run-…, this run's own: what ranks do not write now is not there, and two runs in one
 * folder do not meet. */
td_status td_started_folder(const td_arguments *arguments, int number, char path[PATH_MAX], td_error *err);
/* Remove it, and the files in it. */
void td_started_remove(const char *folder);

/* The CSV <file> that ranks left in it after `what`; TD_IO if they did not. The caller deletes it. */
td_status td_started_read(const char *folder, const char *file, const char *what, td_record **out, td_error *err);
/* A run that failed, or took longer than `limit` seconds (`remedy`: what makes it shorter), is the lesson's failure,
 * with the same exit status; one whose rank was killed, or that mpirun itself gave up, is the environment's. */
td_status td_started_failed(const td_launched *launched, const char *what, double limit, const char *remedy,
                            td_error *err);

#endif
