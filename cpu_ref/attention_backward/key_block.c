/* The pass over blocks of keys: what one_pass.c and two_pass.c share. */
#include "key_block.h"

int64_t td_key_blocks(const td_attention_problem *a) {
    return a->B * a->Hkv * td_online_blocks(a, a->Tk);
}

int64_t td_key_block_floats(const td_attention_problem *a) {
    return (4 * td_online_block(a) * a->d + 15) / 16 * 16;
}

/* Keys that some query may read: the last query reads furthest. */
static int64_t keys_read(const td_attention_problem *a) {
    return a->Tq == 0 ? 0 : td_allowed_keys(a->mask, a->Tq - 1, a->Tq, a->Tk);
}

/* acc[c][r], the block's part of dQ for the queries first … of the tile, into a sum that other blocks add to as well.
 */
static void add_to_shared(const td_attention_problem *a, td_query_tile at, int first, const float *acc, float *dQ) {
    float *rows = dQ + ((at.b * a->Hq + at.h) * a->Tq + at.row) * a->d;
    for (int r = first; r < at.rows; r++)
        for (int64_t c = 0; c < a->d; c++)
#pragma omp atomic
            rows[r * a->d + c] += acc[c * TD_TILE + r];
}

void td_key_block(const td_attention_problem *a, const td_tensor *t, td_dtype dtype, int64_t n, const float *D,
                  float *dQ, float *work) {
    int64_t blocks = td_online_blocks(a, a->Tk), block = td_online_block(a), d = a->d, group = a->Hq / a->Hkv;
    int64_t b = n / blocks / a->Hkv, kv = n / blocks % a->Hkv, begin = n % blocks * block;
    int64_t keys = begin + block < a->Tk ? block : a->Tk - begin;
    float *k = work, *v = k + block * d, *dk = v + block * d, *dv = dk + block * d;
    for (int64_t j = 0; j < keys && begin + j < keys_read(a); j++) {
        td_load_row(&t[TD_K], dtype, b, kv, begin + j, k + j * d);
        td_load_row(&t[TD_V], dtype, b, kv, begin + j, v + j * d);
    }
    for (int64_t e = 0; e < keys * d; e++) dk[e] = dv[e] = 0;

    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t tile = 0; tile < td_tiles_of_head(a); tile++) {
            td_query_tile at = td_tile_of(a, b, h, tile);
            if (td_tile_keys(at) <= begin) continue;
            td_gradient_tile g;
            float acc[TD_MAX_D * TD_TILE], p[TD_TILE], dS[TD_TILE];
            td_gradient_tile_load(&g, a, t, dtype, at, D);
            for (int64_t e = 0; e < TD_TILE * d; e++) acc[e] = 0;
            for (int64_t j = 0; j < keys && begin + j < td_tile_keys(at); j++) {
                int first = td_tile_first(at, begin + j);
                td_weigh_key(a, &g, dtype, k + j * d, v + j * d, first, p, dS);
                td_gather(&g, p, g.dO_rows, d, first, dv + j * d);
                td_gather(&g, dS, g.q_rows, d, first, dk + j * d);
                if (dQ) td_add_value(dS, k + j * d, d, first, acc);
            }
            if (dQ) add_to_shared(a, at, td_tile_first(at, begin), acc, dQ);
        }
    for (int64_t j = 0; j < keys; j++) {
        td_set_row(&t[TD_DK], b, kv, begin + j, (float)a->scale, dk + j * d);
        td_set_row(&t[TD_DV], b, kv, begin + j, 1, dv + j * d);
    }
}
