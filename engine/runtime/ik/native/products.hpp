// The table of products that ik_llama.cpp computes with, in the words of its own headers, and our sets of them.
#pragma once
#include <array>

#include "iqk/iqk_gemm_kquants.h"
#include "iqk/iqk_gemm_legacy_quants.h"

// Of `rows` rows of `n` weights, `stride` bytes each. How many tokens there are is known to each function of the table.
using Product = mul_mat_t;
using Products = std::array<Product, IQK_MAX_NY>;
using SetKernels = decltype(&iqk_set_kernels_kquants);

// What products.cpp is for one set of instructions.
struct ProductSet {
    // Of rows of `n` weights. False if they are of no type that we know.
    bool (*replace)(int n, int type, Products & products, Product & of_sixteen);
    // Output heads, as chickadee_ik.hpp says.
    int rows;
    size_t (*head_room)(int n, int rows);
    int (*split_head)(const ggml_tensor * head, int rows);
    void (*forget_head)(int number);
    void (*set_head_rough)(int number, bool on);
    int (*finish_head)(int number, int row, float * logits, int count);
    const float * (*head_deviations)(int number, int row);
};
extern const ProductSet avx2_products, avx_vnni_products, avx512_products;
