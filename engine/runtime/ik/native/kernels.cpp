// Functions in front of those by which ik_llama.cpp fills its tables of products, so that our products get into them, and
// in front of its attention.
//
// This file runs on any processor that the library runs on; products.cpp, which is compiled for each set of
// instructions, holds all that needs more. The compiler makes the mangled names of the functions, which contain their
// C++ signatures, from the library's own headers; they are looked up as the linker knows them.
#include <dlfcn.h>

#include "chickadee_ik.hpp"
#include "products.hpp"

namespace {

constexpr const ProductSet * SETS[] = {nullptr, &avx2_products, &avx_vnni_products, &avx512_products};

// Without heads that share keys, our attention of shorter passes would be slower than the library's: keys are transposed
// for as many rows as there are tokens.
constexpr int LONG_PASS = 64;

// The library's own functions.
decltype(&iqk_flash_attn_noalibi) attend_theirs = nullptr;
decltype(&iqk_fa_work_buffer_size) room_theirs = nullptr;
SetKernels set_k = nullptr, set_legacy = nullptr;
const ProductSet * ours = nullptr;
bool replaces = false, has_replaced = false;
bool plans_room = false;  // whether the library asks us how much memory a pass needs for its threads

// Return the library's function that has the same name as `own`, which stands in front of it.
template <typename Function> Function behind(void * library, Function own) {
    Dl_info found;
    if (!dladdr(reinterpret_cast<void *>(own), &found) || !found.dli_sname) return nullptr;
    return reinterpret_cast<Function>(dlsym(library, found.dli_sname));
}

// Whether the library has a product for these types of weights and tokens.
bool has(SetKernels set, ggml_type type, ggml_type token_type) {
    Products products;
    Product of_sixteen;
    return set(QK_K, type, token_type, products, of_sixteen);
}

// Fill the table with the library's products, then replace those that we have.
bool with_ours(SetKernels set, int n, int type, int token_type, Products & products, Product & of_sixteen) {
    if (!set || !set(n, type, token_type, products, of_sixteen)) return false;
    if (replaces && ours->replace(n, type, products, of_sixteen)) has_replaced = true;
    return true;
}

}  // namespace

bool start_kernels(void * library) {
    set_k = behind(library, &iqk_set_kernels_kquants);
    set_legacy = behind(library, &iqk_set_kernels_legacy_quants);
    attend_theirs = behind(library, &iqk_flash_attn_noalibi);
    room_theirs = behind(library, &iqk_fa_work_buffer_size);
    return set_k && set_legacy && attend_theirs && room_theirs;
}

bool start_products(int set) {
    ours = SETS[set];
    replaces = has(set_k, GGML_TYPE_Q4_K_R4, GGML_TYPE_Q8_K32) && has(set_k, GGML_TYPE_Q5_K_R4, GGML_TYPE_Q8_K32) &&
               has(set_k, GGML_TYPE_Q6_K_R4, GGML_TYPE_Q8_K) && has(set_k, GGML_TYPE_IQ4_XS_R8, GGML_TYPE_Q8_K32) &&
               has(set_legacy, GGML_TYPE_Q4_0_R8, GGML_TYPE_Q8_2_X4) &&
               has(set_legacy, GGML_TYPE_Q8_0_R8, GGML_TYPE_Q8_2_X4) &&
               has(set_legacy, GGML_TYPE_IQ4_NL_R4, GGML_TYPE_Q8_2_X4);
    return replaces;
}

void chickadee_products_replace(bool on) { replaces = on; }

bool chickadee_products_replaced() { return has_replaced; }

size_t chickadee_products_room(int n) { return ours->long_pass_room(n); }

size_t chickadee_attention_room(int tokens, int heads, int kv_heads, int keys, int value_size, int threads) {
    return ours->attention_room(tokens, heads, kv_heads, keys, value_size, threads);
}

size_t output_head_room(int n, int rows) { return ours->head_room(n, rows); }

int output_head_group() { return ours->rows; }

int output_head_split(const ggml_tensor * head, int rows) { return ours->split_head(head, rows); }

void output_head_forget(int number) { ours->forget_head(number); }

void output_head_rough(int number, bool on) { ours->set_head_rough(number, on); }

int output_head_finish(int number, int row, float * logits, int count) {
    return ours->finish_head(number, row, logits, count);
}

const float * output_head_deviations(int number, int row) { return ours->head_deviations(number, row); }

#define IN_FRONT __attribute__((visibility("default")))

IN_FRONT bool iqk_set_kernels_kquants(int n, int type, int token_type, Products & products, Product & of_sixteen) {
    return with_ours(set_k, n, type, token_type, products, of_sixteen);
}

IN_FRONT bool iqk_set_kernels_legacy_quants(int n, int type, int token_type, Products & products, Product & of_sixteen) {
    return with_ours(set_legacy, n, type, token_type, products, of_sixteen);
}

// The library asks this for each attention of a pass when it plans the pass.
IN_FRONT size_t iqk_fa_work_buffer_size(const ggml_tensor * result, int threads) {
    const size_t theirs = room_theirs ? room_theirs(result, threads) : 0;
    if (!ours) return theirs;
    plans_room = true;
    const auto q = result->src[0], k = result->src[1], v = result->src[2];
    if (q->ne[2] % k->ne[2] || k->type != GGML_TYPE_F16) return theirs;
    const auto room = ours->attention_room(q->ne[1], q->ne[2], k->ne[2], k->ne[1], v->ne[0], threads);
    return room > theirs ? room : theirs;
}

IN_FRONT bool iqk_flash_attn_noalibi(
    int type_q, int type_mask, float max_bias, int neq3, int neq2, long nbq3, long nbq2, int nek3, int nek2, long nbk3,
    long nbk2, int nev3, int nev2, long nbv3, long nbv2, int ne2, int ne1, long nb1, int type_k, int type_v, int Dk,
    int Dv, int nq, int nk, int stride_q, int stride_k, int stride_v, int stride_m, const void * q, const void * k,
    const void * v, const void * mask, const void * sinks, float scale, float softcap, float * qkv, void * work_buffer,
    barrier_t barrier, void * barrier_data, int ith, int nth, int n_swa) {
    const bool is_float16 = type_k == GGML_TYPE_F16 && type_v == GGML_TYPE_F16 && type_mask == GGML_TYPE_F16;
    const bool is_plain = type_q == GGML_TYPE_F32 && !(max_bias > 0) && softcap == 0 && mask && !sinks;
    const bool is_one = neq3 == 1 && nek3 == 1 && nev3 == 1 && nek2 == nev2 && neq2 % nek2 == 0;
    if (replaces && (nq > LONG_PASS || neq2 > nek2) && is_float16 && is_plain && is_one) {
        const Attention of{nq, neq2, nek2, nk, Dk, Dv,
                           (const char *)q, (const char *)k, (const char *)v, (const char *)mask,
                           nbq2, stride_q, nbk2, stride_k, nbv2, stride_v, stride_m,
                           scale, qkv, nb1, ith, nth,
                           plans_room ? work_buffer : nullptr, barrier, barrier_data};
        if (ours->attend(of)) return true;
    }
    return attend_theirs &&
           attend_theirs(type_q, type_mask, max_bias, neq3, neq2, nbq3, nbq2, nek3, nek2, nbk3, nbk2, nev3, nev2, nbv3,
                         nbv2, ne2, ne1, nb1, type_k, type_v, Dk, Dv, nq, nk, stride_q, stride_k, stride_v, stride_m, q,
                         k, v, mask, sinks, scale, softcap, qkv, work_buffer, barrier, barrier_data, ith, nth, n_swa);
}
