// Sixteen rows of weights side by side in the lanes of a register, and tokens that are broadcast to all of them.
#pragma once
#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "iqk/iqk_common.h"

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int BLOCK = QK_K;                  // weights of a row that share a float16
constexpr int ROWS = 16, GROUPS = 4;         // side by side in a register; their blocks lie together in fours

// Blocks of four rows. 32 bytes of quants are two halves, each with four bytes of every row.
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
    int8_t quants[BLOCK];
    union {
        int16_t sums[16];      // of 16 quants each, beside Q6
        float scaled_sums[8];  // of 32 numbers each, beside Q4 and Q5
    };
};
// They are the library's, in finer parts.
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

INLINE __m512i broadcast(const void * four_bytes) { return _mm512_set1_epi32(*(const Word *)four_bytes); }

// a & mask | b
INLINE __m512i either(__m512i a, __m512i mask, __m512i b) { return _mm512_ternarylogic_epi32(a, mask, b, 0xea); }

// std::array would ask whether a template may have an argument with an alignment.
template <size_t count> struct Vectors {
    __m512 of[count];

    INLINE __m512 & operator[](size_t i) { return of[i]; }
    INLINE const __m512 & operator[](size_t i) const { return of[i]; }
    INLINE __m512 * begin() { return of; }
    INLINE __m512 * end() { return of + count; }
    static constexpr size_t size() { return count; }
};

// By hand, as GCC 12 broadcasts by an instruction of its own: 3 to 13 % of all time.
INLINE __m512i dot(__m512i sum, __m512i weights, const int8_t * token) {
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*(const Word *)token));
    return sum;
}

INLINE __m512i times_scale(__m512i sum, __m512i a, __m512i scale) {
    return _mm512_add_epi32(sum, _mm512_mullo_epi32(a, scale));
}

INLINE __m512i widened(const int8_t * rows) { return _mm512_cvtepi8_epi32(_mm_load_si128((const __m128i *)rows)); }

// 32 bytes of each group: the first halves of all, and the second.
struct Halves {
    __m512i first, second;

    INLINE Halves(const uint8_t * a, const uint8_t * b, const uint8_t * c, const uint8_t * d) {
        auto ab = pair(a, b), cd = pair(c, d);
        first = _mm512_shuffle_i32x4(ab, cd, 0x88);
        second = _mm512_shuffle_i32x4(ab, cd, 0xdd);
    }
    static INLINE __m512i pair(const uint8_t * a, const uint8_t * b) {
        auto low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)a));
        return _mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i *)b), 1);
    }
};

INLINE __m512 floats(const uint16_t * a, const uint16_t * b, const uint16_t * c, const uint16_t * d) {
    auto four = [](const uint16_t * halves) { return _mm_loadl_epi64((const __m128i *)halves); };
    auto ab = _mm_unpacklo_epi64(four(a), four(b)), cd = _mm_unpacklo_epi64(four(c), four(d));
    return _mm512_cvtph_ps(_mm256_set_m128i(cd, ab));
}

// From four bytes for each of `parts` in every group to all 16 rows' bytes of a part.
INLINE void gather(const int8_t * a, const int8_t * b, const int8_t * c, const int8_t * d, int parts, int8_t * to) {
    auto sixteen = [](const int8_t * x, int part) { return _mm_loadu_si128((const __m128i *)(x + 4 * part)); };
    for (int part = 0; part < parts; part += 4, to += 4 * ROWS) {
        auto xa = sixteen(a, part), xb = sixteen(b, part), xc = sixteen(c, part), xd = sixteen(d, part);
        auto ab = _mm_unpacklo_epi32(xa, xb), ab_high = _mm_unpackhi_epi32(xa, xb);
        auto cd = _mm_unpacklo_epi32(xc, xd), cd_high = _mm_unpackhi_epi32(xc, xd);
        _mm_store_si128((__m128i *)to, _mm_unpacklo_epi64(ab, cd));
        _mm_store_si128((__m128i *)(to + ROWS), _mm_unpackhi_epi64(ab, cd));
        _mm_store_si128((__m128i *)(to + 2 * ROWS), _mm_unpacklo_epi64(ab_high, cd_high));
        _mm_store_si128((__m128i *)(to + 3 * ROWS), _mm_unpackhi_epi64(ab_high, cd_high));
    }
}

// An eighth of `size` bytes, into the second cache. Behind the last row there may be nothing, which does no harm.
INLINE void ask_for(const char * ahead, int eighth, size_t size) {
    for (size_t i = eighth * size / 512; i < (eighth + 1) * size / 512; ++i) _mm_prefetch(ahead + 64 * i, _MM_HINT_T1);
}

}  // namespace
