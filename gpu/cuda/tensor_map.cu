/* Tensor maps: how the tensor memory accelerator is told of a tensor's place and strides (CUDA driver API,
 * "Tensor Map Object Management"). The driver's function is asked of the runtime, so that nothing links libcuda. */
#include "hopper/tma.h"

bool td_tensor_map_fits(const td_tensor *t) {
    if (t->stride[3] != 1 || (uintptr_t)t->data % 16 != 0) return false;
    if (t->size[2] > 1 && t->stride[2] < t->size[3]) return false; /* rows that overlap */
    for (int k = 0; k < 3; k++) {
        int64_t bytes = t->stride[k] * (int64_t)td_dtype_size(t->dtype);
        if (t->size[k] > INT32_MAX) return false;
        if (t->size[k] > 1 && (bytes <= 0 || bytes % 16 != 0 || bytes >= INT64_C(1) << 40)) return false;
    }
    return true;
}

typedef CUresult (*encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                           const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                           CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

td_status td_tensor_map(CUtensorMap *map, const td_tensor *t, int64_t first, int64_t end, int rows, int columns,
                        bool swizzle, td_error *err) {
    static encode ask;
    if (!ask) {
        void *found = NULL;
        cudaDriverEntryPointQueryResult result;
        cudaError_t e =
            cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
        if (e != cudaSuccess || !found) return td_fail(err, TD_INTERNAL, "cuTensorMapEncodeTiled: the driver has none");
        ask = (encode)found;
    }
    size_t element = td_dtype_size(t->dtype);
    int width = columns * (int)element;
    cuuint64_t size[] = {(cuuint64_t)t->size[3], (cuuint64_t)(end - first), (cuuint64_t)t->size[1],
                         (cuuint64_t)t->size[0]},
               stride[3];
    for (int k = 0; k < 3; k++) /* of a dimension of one element the stride is not used, but looked at */
        stride[k] = t->size[2 - k] > 1 ? (cuuint64_t)t->stride[2 - k] * element : 16;
    cuuint32_t box[] = {(cuuint32_t)columns, (cuuint32_t)rows, 1, 1}, step[] = {1, 1, 1, 1};
    CUtensorMapSwizzle how = !swizzle       ? CU_TENSOR_MAP_SWIZZLE_NONE
                             : width == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                             : width == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
                             : width == 32  ? CU_TENSOR_MAP_SWIZZLE_32B
                                            : CU_TENSOR_MAP_SWIZZLE_NONE;
    CUtensorMapDataType type = t->dtype == TD_F32    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                               : t->dtype == TD_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                     : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    CUresult r =
        ask(map, type, 4, (char *)t->data + first * t->stride[2] * (int64_t)element, size, stride, box, step,
            CU_TENSOR_MAP_INTERLEAVE_NONE, how, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return r == CUDA_SUCCESS ? TD_OK : td_fail(err, TD_INTERNAL, "cuTensorMapEncodeTiled: error %d", (int)r);
}
