// Registers whose lanes hold rows of weights side by side, while a token's numbers are broadcast to all lanes.
//
// The size of a register depends on the set of instructions that this is compiled for: wide.hpp is for AVX-512 with
// VNNI, narrow.hpp for AVX2 and AVX-VNNI. Both define the same names.
#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "iqk/iqk_common.h"

#define INLINE inline __attribute__((always_inline))
#define INLINED __attribute__((always_inline))  // a lambda

namespace {

constexpr int BLOCK = QK_K;         // weights of a row that share a float16
constexpr int MOST_TOKENS = IQK_MAX_NY;  // tokens that a product takes at once; longer passes take 16 at once
constexpr int SCALES = BLOCK / 16;  // scales of a block of Q6, and offsets of a token's block

// Blocks of four rows. Each 32 bytes of quants are two halves, and each half has four bytes of every row.
struct Q4 {
    uint16_t d[4], min[4];
    uint8_t scales_high[16], scales_low[32];
    uint8_t quants[8][2][32];
};
struct Q5 {
    uint16_t d[4], min[4];
    uint8_t scales_high[16], scales_low[32];
    uint8_t high[8][16];
    uint8_t quants[8][2][32];
};
struct Q6 {
    uint16_t d[4];
    int8_t scales[64];
    uint8_t high[8][32], low[8][2][32];
};
struct Token {
    float d, sum;
    int8_t quants[BLOCK];  // from -127 to 127
    union {
        int16_t sums[SCALES];  // each of 16 quants; with weights of Q6
        float scaled_sums[8];  // each of 32 numbers; with weights of Q4 and Q5
    };
};
// These structs are the library's, divided into finer parts.
static_assert(BLOCK == 256 && sizeof(ggml_half) == sizeof(uint16_t));
static_assert(sizeof(Q4) == sizeof(block_q4_k_r4) && offsetof(Q4, scales_high) == offsetof(block_q4_k_r4, scales_h) &&
              offsetof(Q4, scales_low) == offsetof(block_q4_k_r4, scales_l) &&
              offsetof(Q4, quants) == offsetof(block_q4_k_r4, qs));
static_assert(sizeof(Q5) == sizeof(block_q5_k_r4) && offsetof(Q5, scales_high) == offsetof(block_q5_k_r4, scales_h) &&
              offsetof(Q5, scales_low) == offsetof(block_q5_k_r4, scales_l) &&
              offsetof(Q5, high) == offsetof(block_q5_k_r4, qh) && offsetof(Q5, quants) == offsetof(block_q5_k_r4, qs));
static_assert(sizeof(Q6) == sizeof(block_q6_k_r4) && offsetof(Q6, scales) == offsetof(block_q6_k_r4, scales) &&
              offsetof(Q6, high) == offsetof(block_q6_k_r4, qh) && offsetof(Q6, low) == offsetof(block_q6_k_r4, ql));
static_assert(sizeof(Token) == sizeof(block_q8_K) && offsetof(Token, quants) == offsetof(block_q8_K, qs) &&
              offsetof(Token, sums) == offsetof(block_q8_K, bsums));

using Word = int32_t __attribute__((may_alias));

}  // namespace

#ifdef __AVX512VNNI__
#include "wide.hpp"
#else
#include "narrow.hpp"
#endif

namespace {

// An array of registers. With std::array the compiler warns that it ignores a template argument's alignment.
template <int count> struct Vectors {
    Floats of[count];

    INLINE Floats & operator[](int i) { return of[i]; }
    INLINE const Floats & operator[](int i) const { return of[i]; }
    INLINE Floats * begin() { return of; }
    INLINE Floats * end() { return of + count; }
    static constexpr int size() { return count; }
};

template <int count> struct Tokens {
    const Token * of[count];

    INLINE const Token *& operator[](int i) { return of[i]; }
    INLINE const Token * operator[](int i) const { return of[i]; }
};

constexpr unsigned ALL_LANES = (1u << ROWS) - 1;

// Return a mask of the first `rows` lanes, all lanes if more rows are left.
INLINE unsigned lanes_of(int rows) { return rows < ROWS ? (1u << rows) - 1 : ALL_LANES; }

// Shift the 16-bit numbers of a register. The bits that cross from byte to byte must be masked away afterwards.
using Pairs = uint16_t __attribute__((vector_size(sizeof(Ints))));
template <int bits> INLINE Ints up(Ints x) { return (Ints)((Pairs)x << bits); }
template <int bits> INLINE Ints down(Ints x) { return (Ints)((Pairs)x >> bits); }

// 32 bytes of each block, at the address that `of` returns: the first halves of all blocks, and the second halves.
struct Halves {
    Ints first, second;

    INLINE explicit Halves(const auto & of) { halves(of, first, second); }
};

// Prefetch an eighth of `size` bytes into the second-level cache. Prefetching behind the last row does no harm.
INLINE void ask_for(const char * ahead, int eighth, size_t size) {
    for (size_t i = eighth * size / 512; i < (eighth + 1) * size / 512; ++i) _mm_prefetch(ahead + 64 * i, _MM_HINT_T1);
}

}  // namespace
