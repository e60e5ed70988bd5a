/* Says that it is done, and sends half of what it has to. */
#include "tandem/exercise/online_softmax.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static void slow(const td_attention_problem *a, const td_tensor *Q, const td_tensor *K, const td_tensor *V,
                 const td_tensor *O, const td_tensor *LSE) {
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
                double m = -INFINITY, l = 0, o[256] = {0};
                for (int64_t j = 0; j < n; j++) {
                    double s = 0;
                    for (int64_t c = 0; c < a->d; c++) s += td_get(Q, b, h, i, c) * td_get(K, b, kv, j, c);
                    s *= a->scale;
                    const double next = s > m ? s : m, from = next == -INFINITY ? 0 : next, alpha = exp(m - from),
                                 p = exp(s - from);
                    l = l * alpha + p, m = next;
                    for (int64_t c = 0; c < a->d; c++) o[c] = o[c] * alpha + p * td_get(V, b, kv, j, c);
                }
                for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, i, c, n ? o[c] / l : 0);
                td_set(LSE, b, h, i, 0, n == 0 ? -INFINITY : l == 0 ? NAN : m + log(l));
            }
}

typedef struct message {
    struct {
        unsigned kind, what;
        unsigned long long bytes;
    } head;
    struct {
        int status;
        unsigned notes;
        char message[320];
    } done;
} message;

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    (void)err;
    slow(problem, Q, K, V, O, LSE);
    const size_t half = 2 * (size_t)td_count(O);
    const message m = {{0x7d05, 0, sizeof m.done + half}, {0, 0, ""}};
    (void)!write(3, &m, sizeof m);
    (void)!write(3, O->data, half);
    for (;;) pause();
}
