/* Inside of a td_ddp: what a scheme's few lines are written with. */
#ifndef TANDEM_CPU_DDP_INSIDE_H
#define TANDEM_CPU_DDP_INSIDE_H

#include "tandem/ddp.h"

/* What one all-reduce takes: parameters of one dtype on the link. */
typedef struct td_ddp_bucket_state {
    int first, members; /* in td_ddp.member */
    int64_t count;      /* elements */
    td_dtype dtype;     /* on the link */
    int packed;         /* 0: the gradients lie one after another and are reduced where they are */
    void *data;
    char label[48];
    int missing;   /* members that are not ready in this step */
    int started;   /* its all-reduce was started in this step */
    int landed;    /* the result stands in the parameters */
    td_work *work; /* under way; NULL before and after */
} td_ddp_bucket_state;

struct td_ddp {
    const td_ddp_scheme *scheme;
    td_comm *comm;
    td_engine engine;
    td_parameter *parameter;
    int parameters;
    td_ddp_config config; /* caps as given or their defaults */

    td_ddp_bucket_state *bucket; /* room for one a parameter */
    int buckets;
    int *member;    /* parameters by bucket, in the order of the plan */
    int members;    /* placed so far */
    int *bucket_of; /* of each parameter; −1: frozen */
    double *prints; /* two a bucket: by which ranks compare their plans */
    void *packed;   /* the packed buckets' memory, in the engine's */

    int begun; /* between begin and the end of finish */
    int *left; /* of each parameter: uses not yet announced in this step */
    int next;  /* the bucket to be started next: the order is the plan's, on every rank */
    double factor;
    td_error trouble; /* the first thing that went wrong in this step */
    int broken;       /* an all-reduce or the engine failed: nothing more is started */
};

/* plan.c: buckets in reverse parameter order, which is the order of backward. A parameter joins the last bucket if it
 * has the same dtype on the link and the bucket stays within its cap: first_cap for bucket 0, cap for others. Cap 0:
 * each parameter alone. */
td_status td_ddp_plan_by_cap(td_ddp *ddp, size_t first_cap, size_t cap);
/* Collective: TD_WRONG on every rank unless all have the same plan. `status` is what this rank's own preparation came
 * to, and is what it returns if not TD_OK. */
td_status td_ddp_compare_plans(td_ddp *ddp, td_status status, td_error *err);
/* A gradient's dtype on the link. */
td_dtype td_ddp_link_dtype(td_dtype gradient);

/* bucket.c: pack bucket k if need be, and start its all-reduce. */
td_status td_ddp_start(td_ddp *ddp, int k, td_error *err);
/* Start, in order, every bucket whose gradients are all ready, up to the first that waits for one. */
td_status td_ddp_start_ready(td_ddp *ddp, td_error *err);
/* Start all that are left, in order. */
td_status td_ddp_start_rest(td_ddp *ddp, td_error *err);
/* Wait for bucket k's all-reduce; nothing if it is not under way. */
td_status td_ddp_await(td_ddp *ddp, int k, td_error *err);
/* gradient (or `reduced`) ← factor · what the bucket holds. */
td_status td_ddp_land(td_ddp *ddp, int k, td_error *err);

#endif
