// Products with weights of one to two bits: what they are given, and the sets of instructions that they exist for.
#pragma once
#include <cstdint>

// A product of `rows` rows of weights and `count` tokens, all with `blocks` blocks of weights; one thread's part of it.
struct Product {
    int64_t rows, count, blocks;
    const char * weights;
    int64_t weight_stride;  // blocks from row to row
    const char * tokens;    // quantised as ggml does
    int64_t token_stride;   // blocks from token to token
    float * result;         // a row's results of one token lie together
    int64_t result_stride;  // floats from token to token
    int thread, threads;
};

// Compute a thread's part; return false if there is no product for these ggml types or sizes.
using Multiply = bool(int weight_type, int token_type, const Product & of);
Multiply multiply_avx2, multiply_avx_vnni, multiply_avx512;
