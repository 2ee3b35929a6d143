// The table of products that ik_llama.cpp computes with, by the types of its own headers, and our sets of products.
#pragma once
#include <array>

#include "iqk/iqk_gemm_kquants.h"
#include "iqk/iqk_gemm_legacy_quants.h"
#include "iqk/iqk_mul_mat.h"

// A product with `rows` rows of `n` weights, `stride` bytes each; each function of the table is for one number of
// tokens.
using Product = mul_mat_t;
using Products = std::array<Product, IQK_MAX_NY>;
using SetKernels = decltype(&iqk_set_kernels_kquants);

// The attention of a pass and one thread's part of it: keys and values are float16, queries and results floats. Distances
// between heads, tokens, keys and results are in bytes. The mask has a float16 for each token and key.
struct Attention {
    int tokens, heads, kv_heads, keys;
    int key_size, value_size;  // numbers of a head
    const char *q, *k, *v, *mask;
    long q_head, q_token, k_head, k_key, v_head, v_key, mask_token;
    float scale;
    float * result;  // (token, head, number)
    long result_row;
    int thread, threads;
    void * work;  // of `attention_room` bytes that all threads share, or null; threads wait for each other at the barrier
    barrier_t barrier;
    void * barrier_data;
};

// The functions of products.cpp, compiled for one set of instructions.
struct ProductSet {
    // Put our products for rows of `n` weights into the table; return false if we have none for this type.
    bool (*replace)(int n, int type, Products & products, Product & of_sixteen);
    // Output heads: see chickadee_ik.hpp.
    int rows;
    size_t (*head_room)(int n, int rows);
    int (*split_head)(const ggml_tensor * head, int rows);
    void (*forget_head)(int number);
    void (*set_head_rough)(int number, bool on);
    int (*finish_head)(int number, int row, float * logits, int count);
    const float * (*head_deviations)(int number, int row);
    size_t (*long_pass_room)(int n);
    // Compute a thread's part of the attention; return false if we have none for these sizes.
    bool (*attend)(const Attention & of);
    // Return the bytes that `Attention::work` needs, 0 if it is not used.
    size_t (*attention_room)(int tokens, int heads, int kv_heads, int keys, int value_size, int threads);
};
extern const ProductSet avx2_products, avx_vnni_products, avx512_products;
