// Registers of 512 bits that hold 16 rows of weights, for processors with AVX-512 and VNNI. Included by lanes.hpp.
#pragma once

namespace {

using Ints = __m512i;
using Floats = __m512;
constexpr int GROUPS = 4, ROWS = 4 * GROUPS;

INLINE Ints no_ints() { return _mm512_setzero_si512(); }
INLINE Floats no_floats() { return _mm512_setzero_ps(); }
INLINE Ints bytes(char all) { return _mm512_set1_epi8(all); }
INLINE Floats all(float x) { return _mm512_set1_ps(x); }
INLINE Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
INLINE Floats plus_product(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
INLINE Floats less_product(Floats sum, Floats a, Floats b) { return _mm512_fnmadd_ps(a, b, sum); }
INLINE void store(float * to, Floats x, unsigned lanes) { _mm512_mask_storeu_ps(to, lanes, x); }
INLINE Floats load(const float * from) { return _mm512_loadu_ps(from); }
INLINE Floats load_half(const uint16_t * from) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)); }
INLINE Floats load_bytes(const uint8_t * from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from)));
}
INLINE float sum_of(Floats x) { return _mm512_reduce_add_ps(x); }
INLINE float largest_of(Floats x) { return _mm512_reduce_max_ps(x); }
INLINE unsigned not_less(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }  // lanes
INLINE unsigned not_equal(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
INLINE Ints broadcast(const void * four_bytes) { return _mm512_set1_epi32(*(const Word *)four_bytes); }

// a & mask | b
INLINE Ints either(Ints a, Ints mask, Ints b) { return _mm512_ternarylogic_epi32(a, mask, b, 0xea); }

// Widen a signed byte of each row to an int.
INLINE Ints widened(const int8_t * rows) { return _mm512_cvtepi8_epi32(_mm_load_si128((const __m128i *)rows)); }

// Scales in the form that `add_16` and `add_32` take, and the offsets that `add_16` begins with, because a weight is
// its quant less 32.
INLINE Ints scale_of(const int8_t * rows) { return widened(rows); }
INLINE void offsets_of(const Token & token, int32_t * to) {
    for (int s = 0; s < SCALES; ++s) to[s] = -32 * token.sums[s];
}

// Written in assembler, because GCC 12 broadcasts with a separate instruction: 3 to 13 % of all time.
INLINE Ints dot(Ints sum, Ints weights, const int8_t * token) {
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*(const Word *)token));
    return sum;
}

INLINE Ints plus_scaled(Ints sum, Ints products, Ints scale) {
    return _mm512_add_epi32(sum, _mm512_mullo_epi32(products, scale));
}

// Add to `sum` the products of 32 weights, whose quants are at most `most`, and a token's numbers, times the scale.
template <int most> INLINE Ints add_32(Ints sum, const Ints * weights, const int8_t * token, Ints scale) {
    auto products = no_ints();
    for (int i = 0; i < 8; ++i) products = dot(products, weights[i], token + 4 * i);
    return plus_scaled(sum, products, scale);
}

// Add the products of 16 weights, which are their quants less 32.
INLINE Ints add_16(Ints sum, const Ints * weights, const int8_t * token, const int32_t * offset, Ints scale) {
    auto products = broadcast(offset);
    for (int i = 0; i < 4; ++i) products = dot(products, weights[i], token + 4 * i);
    return plus_scaled(sum, products, scale);
}

// Return the sum of products of 32 weights and a token's numbers. Something was added to each weight to make it
// unsigned; `begin` is the negative of what that adds to the sum, in the form that `begin_with` returns.
INLINE __m128i begin_with(__m128i sums) { return sums; }
INLINE Ints short_sum(const Ints * weights, const int8_t * token, const int32_t * begin) {
    auto sum = broadcast(begin);
    for (int i = 0; i < 8; ++i) sum = dot(sum, weights[i], token + 4 * i);
    return sum;
}

// Add the products of four weights and four numbers in each lane. For long passes: the compiler must not move it, or it
// would keep too many registers busy.
INLINE Ints plus_products(Ints sum, Ints weights, Ints numbers) {
    asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(numbers));
    return sum;
}
INLINE Ints first_products(Ints weights, Ints numbers) { return plus_products(no_ints(), weights, numbers); }
template <int most> constexpr int FIT = 8;  // registers of weights up to `most` whose products are summed at once

// The sum for an output head's upper bits. `add` adds the products of 16 weights 8 q - 61; these weights are twice
// 4 q + 1.5 - 32.
struct RoughSum {
    Ints sum = no_ints();

    static int offset(int numbers) { return 61 * numbers; }  // `numbers`: the sum of the token's 16 numbers
    INLINE void add(const Ints * weights, const int8_t * token, const int32_t * offset, Ints scale) {
        auto products = no_ints();
        for (int i = 0; i < 4; ++i) products = dot(products, weights[i], token + 4 * i);
        sum = plus_scaled(sum, _mm512_sub_epi32(_mm512_slli_epi32(products, 3), broadcast(offset)), scale);
    }
    INLINE Ints total() const { return sum; }
};

INLINE void halves(const auto & of, Ints & first, Ints & second) {
    auto pair = [&](int a) INLINED {
        auto low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)of(a)));
        return _mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i *)of(a + 1)), 1);
    };
    auto ab = pair(0), cd = pair(2);
    first = _mm512_shuffle_i32x4(ab, cd, 0x88);
    second = _mm512_shuffle_i32x4(ab, cd, 0xdd);
}

// Load 16 bytes of each block.
INLINE Ints sixteens(const auto & of) {
    auto load = [&](int group) INLINED { return _mm_loadu_si128((const __m128i *)of(group)); };
    auto ab = _mm256_set_m128i(load(1), load(0)), cd = _mm256_set_m128i(load(3), load(2));
    return _mm512_inserti64x4(_mm512_castsi256_si512(ab), cd, 1);
}

// Blocks of eight rows: load 32 bytes of each block, and convert eight float16 of each.
INLINE Ints eights(const auto & of) {
    auto load = [&](int block) INLINED { return _mm256_loadu_si256((const __m256i *)of(block)); };
    return _mm512_inserti64x4(_mm512_castsi256_si512(load(0)), load(1), 1);
}
INLINE Floats eights_to_floats(const auto & of) {
    auto load = [&](int block) INLINED { return _mm_loadu_si128((const __m128i *)of(block)); };
    return _mm512_cvtph_ps(_mm256_set_m128i(load(1), load(0)));
}

// Load a table of 16 bytes, and look up the bytes at `places`, each below 16.
INLINE Ints table_of(const uint8_t * table) { return _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)table)); }
INLINE Ints looked_up(Ints table, Ints places) { return _mm512_shuffle_epi8(table, places); }

// Convert four float16 of each block.
INLINE Floats halves_to_floats(const auto & of) {
    auto load = [&](int group) INLINED { return _mm_loadl_epi64((const __m128i *)of(group)); };
    auto ab = _mm_unpacklo_epi64(load(0), load(1)), cd = _mm_unpacklo_epi64(load(2), load(3));
    return _mm512_cvtph_ps(_mm256_set_m128i(cd, ab));
}

// Reorder a block's four bytes for each of `parts` so that the bytes of all rows for one part lie together.
INLINE void gather(const auto & of, int parts, int8_t * to) {
    for (int part = 0; part < parts; part += 4, to += 4 * ROWS) {
        auto load = [&](int group) INLINED {
            return _mm_loadu_si128((const __m128i *)(of(group) + 4 * part));
        };
        auto a = load(0), b = load(1), c = load(2), d = load(3);
        auto ab = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
        auto cd = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
        _mm_store_si128((__m128i *)to, _mm_unpacklo_epi64(ab, cd));
        _mm_store_si128((__m128i *)(to + ROWS), _mm_unpackhi_epi64(ab, cd));
        _mm_store_si128((__m128i *)(to + 2 * ROWS), _mm_unpacklo_epi64(ab_high, cd_high));
        _mm_store_si128((__m128i *)(to + 3 * ROWS), _mm_unpackhi_epi64(ab_high, cd_high));
    }
}

}  // namespace
