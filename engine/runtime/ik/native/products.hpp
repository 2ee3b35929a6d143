// The table of products that ik_llama.cpp computes with, in the words of its own headers.
#pragma once
#include <array>

#include "iqk/iqk_gemm_kquants.h"

// Of `rows` rows of `n` weights, `stride` bytes each. How many tokens there are is known to each function of the table.
using Product = mul_mat_t;
using Products = std::array<Product, IQK_MAX_NY>;
using SetKernels = decltype(&iqk_set_kernels_kquants);

// Products for AVX-512 (products.cpp).
bool keep_theirs(SetKernels set_theirs);      // for the rows that are left; false if there are none
bool replace(int type, Products & products);  // false if they are of no type that we know
