/* Faults that people really hit in attention backward, each a small input with its right answer. With q = 0 the weights
 * are even and dK = 0; with k = 0 they are even and dQ = 0. */
#include "facts.h"

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

const td_fact td_facts_backward[] = {
    /* rows without an allowed key */
    {"A1 bottom-right", 4, 2, RIGHT, 1, 16, {"0*4", "1 3", "1 3", "1*4"}, {"0*3 1", "0*2", "1.5 0.5"}},
    {"A1 k = 0", 4, 2, RIGHT, 1, 16, {"1*4+1", "0*2", "1 3", "1*4"}, {"0*4", "-2 2", "1.5 0.5"}},
    {"A1 top-left", 4, 2, LEFT, 1, 16, {"0*4", "1 3", "1 3", "1*4"}, {"0 1*3", "0*2", "2.5 1.5"}},
    {"A1 one key", 5, 1, RIGHT, 1, 16, {"3*5", "2", "7", "1*5"}, {"0*5", "0", "1"}},
    {"A1 ragged", 33, 17, RIGHT, 1, 16, {"0*33", "1*17+1", "2*17+2", "1*33"}, {"", "0*17", ""}},
    /* which corner the causal mask starts from */
    {"A2 bottom-right",
     2,
     4,
     RIGHT,
     1,
     2,
     {"0*2", "1*4+1", "1*4+1", "1*2"},
     {"0.6666666666666667 1.25", "0*4", "0.5833333333333333*3 0.25"}},
    {"A2 top-left", 2, 4, LEFT, 1, 2, {"0*2", "1*4+1", "1*4+1", "1*2"}, {"0 0.25", "0*4", "1.5 0.5 0*2"}},
    {"A2 no mask", 2, 4, FULL, 1, 2, {"0*2", "1*4+1", "1*4+1", "1*2"}, {"1.25*2", "0*4", "0.5*4"}},
    /* a large finite number in place of −∞ */
    {"A3", 2, 2, LEFT, 1, 1, {"-2e6 0", "1 0", "1 100", "1*2"}, {"0 -24.75", "0*2", "1.5 0.5"}},
    {"A3 in 8 bits", 2, 2, LEFT, 1, 1, {"-2000 0", "1000 0", "1 96", "1*2"}, {"0 -23750", "0*2", "1.5 0.5"}},
    /* a tail of 1 after blocks of 16: zeros that fill it up, keys and rows that it loses */
    {"A4",
     1,
     17,
     FULL,
     1,
     16,
     {"-10", "1*17", "1*17+1", "1"},
     {"0", "4.705882352941177*17+-0.5882352941176471", "0.05882352941176471*17"}},
    {"A4 by blocks of 5",
     1,
     17,
     FULL,
     1,
     5,
     {"-10", "1*17", "1*17+1", "1"},
     {"0", "4.705882352941177*17+-0.5882352941176471", "0.05882352941176471*17"}},
    {"A5", 17, 17, LEFT, 1, 16, {"0*17", "1*17+1", "1*17+1", "1*17"}, {"", "0*17", ""}},
    {"A5 long", 65, 65, LEFT, 1, 64, {"0*65", "1*65+1", "1*65+1", "1*65"}, {"", "0*65", ""}},
    /* weights of 0 and 1/16 */
    {"A6", 1, 32, FULL, 1, 16, {"1", "1000*16 -1000*16", "1*16 2*16", "1"}, {"0", "0*32", "0.0625*16 0*16"}},
    {"A6 reversed", 1, 32, FULL, 1, 16, {"1", "-1000*16 1000*16", "1*16 2*16", "1"}, {"0", "0*32", "0*16 0.0625*16"}},
    /* LSE is natural */
    {"A7", 1, 256, FULL, 1, 64, {"0", "0*256", "1*256", "1"}, {"0", "0*256", "0.00390625*256"}},
    /* all logits far below zero; scale 0; scale < 0 */
    {"A8 all -1e5", 2, 4, FULL, 1, 2, {"-1000*2", "100*4", "1*4+1", "1*2"}, {"0*2", "750 250 -250 -750", "0.5*4"}},
    {"A8 scale 0", 3, 4, FULL, 0, 2, {"9*3+7", "5*4+-3", "1*4+1", "1*3"}, {"0*3", "0*4", "0.75*4"}},
    {"A8 scale < 0", 2, 4, FULL, -0.5, 2, {"0*2", "1*4+1", "1*4+1", "1*2"}, {"-0.625*2", "0*4", "0.5*4"}},
    /* nothing to read, nothing to write, one key */
    {"A9 no keys", 3, 0, FULL, 1, 16, {"5*3", "", "", "1*3"}, {"0*3", "", ""}},
    {"A9 no keys, causal", 3, 0, RIGHT, 1, 16, {"5*3", "", "", "1*3"}, {"0*3", "", ""}},
    {"A9 no queries", 0, 3, FULL, 1, 16, {"", "5*3", "1*3", ""}, {"", "0*3", "0*3"}},
    {"A9 no queries, causal", 0, 3, RIGHT, 1, 16, {"", "5*3", "1*3", ""}, {"", "0*3", "0*3"}},
    {"A9 T = 1", 1, 1, LEFT, 0.5, 16, {"6", "-4", "7", "5"}, {"0", "0", "5"}},
    /* what is not finite stays in the rows that may read it */
    {"A13 NaN query", 3, 2, FULL, 1, 1, {"1 nan 1", "0*2", "1 3", "1*3"}, {"0 nan 0", "nan*2", "nan*2"}},
    {"A13 NaN query without keys", 3, 2, RIGHT, 1, 1, {"nan 1*2", "0*2", "1 3", "1*3"}, {"0*3", "-0.5 0.5", "1.5 0.5"}},
    {"A13 NaN dO without keys", 3, 2, RIGHT, 1, 1, {"1*3", "0*2", "1 3", "nan 1*2"}, {"0*3", "-0.5 0.5", "1.5 0.5"}},
    {"A13 NaN keys that no row reads",
     2,
     20,
     LEFT,
     1,
     16,
     {"1*2", "0*2 nan*18", "1 3 nan*18", "1*2"},
     {"0*2", "-0.5 0.5 0*18", "1.5 0.5 0*18"}},
    {"A13 infinite keys that no row reads",
     2,
     20,
     LEFT,
     1,
     16,
     {"1*2", "0*2 inf*18", "1 3 -inf*18", "1*2"},
     {"0*2", "-0.5 0.5 0*18", "1.5 0.5 0*18"}},
    {"A13 NaN key for some", 4, 4, LEFT, 1, 2, {"0*4", "0*2 nan 0", "1*4+1", "1*4"}, {"0*2 nan*2", "nan*4", "nan*4"}},
    {"A13 NaN value for some",
     4,
     4,
     LEFT,
     1,
     2,
     {"0*4", "0*4", "1*2+1 nan*2", "1*4"},
     {"0*2 nan*2", "nan*4", "2.0833333333333335 1.0833333333333333 0.5833333333333333 0.25"}},
    {"A13 all scores -inf", 2, 3, FULL, 1, 2, {"1*2", "-inf*3", "1*3+1", "1*2"}, {"nan*2", "nan*3", "nan*3"}},
    /* a tile is filled up with rows that do not exist, whose zeros times −∞ must not reach dK and dV */
    {"A13 one score -inf", 3, 2, FULL, 1, 1, {"1*3", "0 -inf", "1 3", "1*3"}, {"", "0*2", "3 0"}},
    {NULL, 0, 0, FULL, 0, 0, {NULL}, {NULL}},
};
