/* A ring of work items between the caller and one worker thread. */
#include "queue.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    td_queued work;
    void *context;
} item;

struct td_queue {
    pthread_t worker;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t filled, finished;
    item ring[TD_QUEUE_DEPTH]; /* item number n is in place n mod depth */
    int64_t submitted, done;
    int closing;
    td_error error; /* the first since the last synchronize */
};

static void *work_in_order(void *argument) {
    td_queue *q = argument;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (q->done == q->submitted && !q->closing) pthread_cond_wait(&q->filled, &q->lock);
        if (q->done == q->submitted) break;
        item next = q->ring[q->done % TD_QUEUE_DEPTH];
        pthread_mutex_unlock(&q->lock);

        td_error err = {TD_OK, ""};
        td_status status = next.work(next.context, &err);

        pthread_mutex_lock(&q->lock);
        if (status && !q->error.status) {
            q->error = err;
            q->error.status = status;
        }
        q->done++;
        pthread_cond_broadcast(&q->finished);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

td_status td_queue_new(td_queue **out, td_error *err) {
    td_queue *q = calloc(1, sizeof *q);
    *out = NULL;
    if (!q) return td_fail(err, TD_NO_MEMORY, "queue: no memory for %zu bytes", sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
    pthread_cond_init(&q->finished, NULL);
    int failed = pthread_create(&q->worker, NULL, work_in_order, q);
    if (failed) {
        free(q);
        return td_fail(err, TD_INTERNAL, "queue: no worker thread: %s", strerror(failed));
    }
    *out = q;
    return TD_OK;
}

void td_queue_delete(td_queue *queue) {
    if (!queue) return;
    pthread_mutex_lock(&queue->lock);
    queue->closing = 1;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->worker, NULL);
    pthread_cond_destroy(&queue->finished);
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

void td_queue_submit(td_queue *queue, td_queued work, void *context) {
    pthread_mutex_lock(&queue->lock);
    while (queue->submitted - queue->done == TD_QUEUE_DEPTH) pthread_cond_wait(&queue->finished, &queue->lock);
    queue->ring[queue->submitted++ % TD_QUEUE_DEPTH] = (item){work, context};
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

td_status td_queue_synchronize(td_queue *queue, td_error *err) {
    pthread_mutex_lock(&queue->lock);
    int64_t last = queue->submitted;
    while (queue->done < last) pthread_cond_wait(&queue->finished, &queue->lock);
    td_status status = queue->error.status;
    if (status && err) *err = queue->error;
    queue->error.status = TD_OK;
    pthread_mutex_unlock(&queue->lock);
    return status;
}

int64_t td_queue_submitted(td_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    int64_t n = queue->submitted;
    pthread_mutex_unlock(&queue->lock);
    return n;
}
