// A function in front of ggml's `llamafile_sgemm`, by which our products get into ggml.
//
// ggml asks that function before it computes a product by itself: first with the tokens' numbers as floats, then
// quantised. It is the only place where ggml hands over a whole product, and it keeps the weights as they are in the
// file. This file runs on any processor; low_bits.cpp is compiled for each set of instructions.
#include <dlfcn.h>
#include <string.h>

#include "chickadee_llama.hpp"
#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "llamafile/sgemm.h"
#include "low_bits.hpp"

namespace {

#ifdef __x86_64__
constexpr Multiply * SETS[] = {nullptr, multiply_avx2, multiply_avx_vnni, multiply_avx512};
#else
constexpr Multiply * SETS[] = {nullptr};
#endif

decltype(&llamafile_sgemm) theirs = nullptr;
Multiply * ours = nullptr;
bool replaces = false, has_replaced = false;

template <typename Function> Function * found(void * library, const char * name) {
    return reinterpret_cast<Function *>(dlsym(library, name));
}

// Whether the types of the loaded library are those of the headers.
bool is_of_headers(void * library) {
    auto name = found<decltype(ggml_type_name)>(library, "ggml_type_name");
    auto size = found<decltype(ggml_type_size)>(library, "ggml_type_size");
    auto has = [&](ggml_type type, const char * of, size_t bytes) {
        return name(type) && strcmp(name(type), of) == 0 && size(type) == bytes;
    };
    return name && size && has(GGML_TYPE_Q1_0, "q1_0", 18) && has(GGML_TYPE_Q2_0, "q2_0", 18) &&
           has(GGML_TYPE_TQ1_0, "tq1_0", 54) && has(GGML_TYPE_TQ2_0, "tq2_0", 66);
}

}  // namespace

const char * chickadee_llama_version() { return LLAMA_VERSION; }

bool chickadee_llama_start(void * kernels, int set) {
    auto behind = found<decltype(llamafile_sgemm)>(kernels, "llamafile_sgemm");
    if (!behind || behind == llamafile_sgemm || !is_of_headers(kernels)) return false;
    theirs = behind;
    ours = SETS[set];
    replaces = ours != nullptr;
    return true;
}

void chickadee_llama_replace(bool on) { replaces = on && ours; }

bool chickadee_llama_replaced() { return has_replaced; }

bool chickadee_llama_product(int weight_type, int token_type, int64_t rows, int64_t count, int64_t blocks,
                             int64_t token_blocks, const void * weights, const void * tokens, float * result,
                             int thread, int threads) {
    const ggml_compute_params params{thread, threads, 0, nullptr, nullptr, false};
    return llamafile_sgemm(&params, rows, count, blocks, weights, blocks, tokens, token_blocks, result, rows,
                           weight_type, token_type, GGML_TYPE_F32);
}

bool chickadee_llama_device_check(ggml_tensor * node, bool ask, void * flag) {
    constexpr int64_t PROMPT_PASS = 31;  // tokens, as in engine/runtime/contexts.py
    constexpr int EVERY = 8;             // products; most layers have seven
    static thread_local int asked = 0;
    if (!ask) return *static_cast<const char *>(flag) == 0;
    return node->op == GGML_OP_MUL_MAT && node->ne[1] >= PROMPT_PASS && ++asked % EVERY == 0;
}

EXPORTED bool llamafile_sgemm(const ggml_compute_params * params, int64_t rows, int64_t count, int64_t blocks,
                              const void * weights, int64_t weight_stride, const void * tokens, int64_t token_stride,
                              void * result, int64_t result_stride, int weight_type, int token_type, int result_type) {
    if (replaces && !params->use_ref && result_type == GGML_TYPE_F32) {
        const Product of{rows, count, blocks, (const char *)weights, weight_stride, (const char *)tokens, token_stride,
                         (float *)result, result_stride, params->ith, params->nth};
        if (ours(weight_type, token_type, of)) return has_replaced = true;
    }
    return theirs && theirs(params, rows, count, blocks, weights, weight_stride, tokens, token_stride, result,
                            result_stride, weight_type, token_type, result_type);
}
