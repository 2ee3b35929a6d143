// Registers of 256 bits that hold eight rows of weights, for processors with AVX2 or AVX-VNNI. Included by lanes.hpp.
//
// AVX2 has no instruction for products of four bytes: `vpmaddubsw` makes 16-bit sums of two products, and how many of
// these can be added without overflow depends on the quants. So sums are widened as late as possible, by one
// instruction that also multiplies by the scale.
#pragma once

namespace {

using Ints = __m256i;
using Floats = __m256;
constexpr int GROUPS = 2, ROWS = 4 * GROUPS;

INLINE Ints no_ints() { return _mm256_setzero_si256(); }
INLINE Floats no_floats() { return _mm256_setzero_ps(); }
INLINE Ints bytes(char all) { return _mm256_set1_epi8(all); }
INLINE Floats all(float x) { return _mm256_set1_ps(x); }
INLINE Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
INLINE Floats plus_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
INLINE Floats less_product(Floats sum, Floats a, Floats b) { return _mm256_fnmadd_ps(a, b, sum); }
INLINE void store(float * to, Floats x, unsigned lanes) {
    const auto bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    if (lanes == 0xff) _mm256_storeu_ps(to, x);
    else _mm256_maskstore_ps(to, _mm256_cmpeq_epi32(_mm256_set1_epi32(lanes) & bits, bits), x);
}
INLINE Floats load(const float * from) { return _mm256_loadu_ps(from); }
INLINE Floats load_half(const uint16_t * from) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)); }
INLINE Floats load_bytes(const uint8_t * from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)));
}
INLINE float sum_of(Floats x) {
    auto four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    auto two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float largest_of(Floats x) {
    auto four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    auto two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
INLINE unsigned not_less(Floats a, Floats b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ)); }  // lanes
INLINE unsigned not_equal(Floats a, Floats b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)); }
INLINE Ints broadcast(const void * four_bytes) { return _mm256_set1_epi32(*(const Word *)four_bytes); }

// a & mask | b
INLINE Ints either(Ints a, Ints mask, Ints b) { return (a & mask) | b; }

// Widen a signed byte of each row to an int.
INLINE Ints widened(const int8_t * rows) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)rows)); }

#ifdef __AVXVNNI__

INLINE Ints scale_of(const int8_t * rows) { return widened(rows); }
INLINE void offsets_of(const Token & token, int32_t * to) {
    for (int s = 0; s < SCALES; ++s) to[s] = -32 * token.sums[s];
}

INLINE Ints products_of(Ints sum, const Ints * weights, const int8_t * token, int count) {
    for (int i = 0; i < count; ++i) sum = _mm256_dpbusd_avx_epi32(sum, weights[i], broadcast(token + 4 * i));
    return sum;
}

INLINE Ints plus_scaled(Ints sum, Ints products, Ints scale) {
    return _mm256_add_epi32(sum, _mm256_mullo_epi32(products, scale));
}

template <int most> INLINE Ints add_32(Ints sum, const Ints * weights, const int8_t * token, Ints scale) {
    return plus_scaled(sum, products_of(no_ints(), weights, token, 8), scale);
}

INLINE Ints add_16(Ints sum, const Ints * weights, const int8_t * token, const int32_t * offset, Ints scale) {
    return plus_scaled(sum, products_of(broadcast(offset), weights, token, 4), scale);
}

// Return the sum of products of 32 weights and a token's numbers. Something was added to each weight to make it
// unsigned; `begin` is the negative of what that adds to the sum, in the form that `begin_with` returns.
INLINE __m128i begin_with(__m128i sums) { return sums; }
INLINE Ints short_sum(const Ints * weights, const int8_t * token, const int32_t * begin) {
    return products_of(broadcast(begin), weights, token, 8);
}

// Add the products of four weights and four numbers in each lane. For long passes: the compiler must not move it, or it
// would keep too many registers busy.
INLINE Ints plus_products(Ints sum, Ints weights, Ints numbers) {
    sum = _mm256_dpbusd_avx_epi32(sum, weights, numbers);
    asm volatile("" : "+x"(sum));
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
        auto products = products_of(no_ints(), weights, token, 4);
        sum = plus_scaled(sum, _mm256_sub_epi32(_mm256_slli_epi32(products, 3), broadcast(offset)), scale);
    }
    INLINE Ints total() const { return sum; }
};

#else

// Scales in the form that `add_16` and `add_32` take: each twice, with 16 bits.
INLINE Ints scale_of(const int8_t * rows) {
    const auto high_bytes = _mm256_setr_epi8(-1, 0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3,  //
                                             -1, 4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7);
    auto eight = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)rows));
    return _mm256_srai_epi16(_mm256_shuffle_epi8(eight, high_bytes), 8);
}

// Compute the offsets that `add_16` begins with. Of each four numbers the first two go into one 16-bit sum, the others
// into another.
INLINE void offsets_of(const Token & token, int32_t * to) {
    for (int part = 0; part < SCALES / 2; ++part) {
        auto quants = _mm256_loadu_si256((const __m256i *)(token.quants + 32 * part));
        auto sums = _mm256_maddubs_epi16(bytes(32), quants);
        sums = _mm256_add_epi16(sums, _mm256_shuffle_epi32(sums, 0x4e));
        sums = _mm256_add_epi16(sums, _mm256_shuffle_epi32(sums, 0xb1));
        sums = _mm256_sub_epi16(no_ints(), sums);
        to[2 * part] = _mm256_extract_epi32(sums, 0);
        to[2 * part + 1] = _mm256_extract_epi32(sums, 4);
    }
}

INLINE Ints two(Ints weights, const int8_t * token) { return _mm256_maddubs_epi16(weights, broadcast(token)); }

// Keep the tokens' instructions apart: GCC 12 would mix them and then run out of registers for 8 tokens.
INLINE Ints at_once(Ints products) {
    asm volatile("" : "+x"(products));
    return products;
}

INLINE Ints plus_scaled(Ints sum, Ints products, Ints scale) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(products, scale));
}

// How many registers of weights up to `most` fit into one 16-bit sum of products.
template <int most> constexpr int FIT = 32767 / (2 * 127 * most) >= 8 ? 8 : 4;

// Add to `sum` the products of 32 weights, whose quants are at most `most`, and a token's numbers, times the scale.
template <int most> INLINE Ints add_32(Ints sum, const Ints * weights, const int8_t * token, Ints scale) {
    constexpr int fit = FIT<most>;
    static_assert(fit * 2 * 127 * most <= 32767);
    for (int i = 0; i < 8; i += fit) {
        auto products = two(weights[i], token + 4 * i);
        for (int j = i + 1; j < i + fit; ++j) products = _mm256_add_epi16(products, two(weights[j], token + 4 * j));
        sum = plus_scaled(sum, at_once(products), scale);
    }
    return sum;
}

// Add the products of 16 weights, which are their quants less 32. The sum of eight quants' products does not fit into
// 16 bits, but the sum of the weights' products does, and sums in between may overflow: only 63 * 2 * 127 and 32 * 8 *
// 127 must fit.
INLINE Ints add_16(Ints sum, const Ints * weights, const int8_t * token, const int32_t * offset, Ints scale) {
    auto products = broadcast(offset);
    for (int i = 0; i < 4; ++i) products = _mm256_add_epi16(products, two(weights[i], token + 4 * i));
    return plus_scaled(sum, at_once(products), scale);
}

// The same function for weights of four bits. `begin` goes into the first of two 16-bit sums. Sums in between may
// overflow; the results, at most 2 * 16 * 8 * 127 and 16 * 15 * 127, do not.
INLINE __m128i begin_with(__m128i sums) { return _mm_and_si128(sums, _mm_set1_epi32(0xffff)); }
INLINE Ints short_sum(const Ints * weights, const int8_t * token, const int32_t * begin) {
    auto products = broadcast(begin);
    for (int i = 0; i < 8; ++i) products = _mm256_add_epi16(products, two(weights[i], token + 4 * i));
    return at_once(_mm256_madd_epi16(products, _mm256_set1_epi16(1)));
}

// Add the products of four weights and four numbers in each lane. For long passes: the compiler must not move it, or it
// would keep too many registers busy.
INLINE Ints first_products(Ints weights, Ints numbers) { return at_once(_mm256_maddubs_epi16(weights, numbers)); }
INLINE Ints plus_products(Ints sum, Ints weights, Ints numbers) {
    return at_once(_mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, numbers)));
}

// The sum for an output head's upper bits. `add` adds the products of 16 weights 8 q - 61; these weights are twice
// 4 q + 1.5 - 32. The products do not fit into 16 bits, so the terms with the factors 8 and 61 are
// summed separately.
struct RoughSum {
    Ints sum = no_ints(), numbers = no_ints();

    static int offset(int numbers) { return numbers & 0xffff; }  // the sum of the token's 16 numbers
    INLINE void add(const Ints * weights, const int8_t * token, const int32_t * offset, Ints scale) {
        auto products = two(weights[0], token);
        for (int i = 1; i < 4; ++i) products = _mm256_add_epi16(products, two(weights[i], token + 4 * i));
        sum = plus_scaled(sum, products, scale);
        numbers = plus_scaled(numbers, broadcast(offset), scale);
    }
    INLINE Ints total() const {
        return _mm256_sub_epi32(_mm256_slli_epi32(sum, 3), _mm256_mullo_epi32(numbers, _mm256_set1_epi32(61)));
    }
};

#endif

INLINE Ints beside(__m128i a, __m128i b) { return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1); }

// Load 16 bytes of each block.
INLINE Ints sixteens(const auto & of) {
    return beside(_mm_loadu_si128((const __m128i *)of(0)), _mm_loadu_si128((const __m128i *)of(1)));
}

INLINE void halves(const auto & of, Ints & first, Ints & second) {
    first = sixteens(of);
    second = sixteens([&](int group) INLINED { return of(group) + 16; });
}

// Blocks of eight rows, one in a register: load 32 bytes of the block, and convert its eight float16.
INLINE Ints eights(const auto & of) { return _mm256_loadu_si256((const __m256i *)of(0)); }
INLINE Floats eights_to_floats(const auto & of) { return load_half(of(0)); }

// Load a table of 16 bytes, and look up the bytes at `places`, each below 16.
INLINE Ints table_of(const uint8_t * table) { return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)table)); }
INLINE Ints looked_up(Ints table, Ints places) { return _mm256_shuffle_epi8(table, places); }

// Convert four float16 of each block.
INLINE Floats halves_to_floats(const auto & of) {
    auto load = [&](int group) INLINED { return _mm_loadl_epi64((const __m128i *)of(group)); };
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(load(0), load(1)));
}

// Reorder a block's four bytes for each of `parts` so that the bytes of all rows for one part lie together.
INLINE void gather(const auto & of, int parts, int8_t * to) {
    for (int part = 0; part < parts; part += 4, to += 4 * ROWS) {
        auto load = [&](int group) INLINED {
            return _mm_loadu_si128((const __m128i *)(of(group) + 4 * part));
        };
        auto a = load(0), b = load(1);
        _mm_store_si128((__m128i *)to, _mm_unpacklo_epi32(a, b));
        _mm_store_si128((__m128i *)(to + 2 * ROWS), _mm_unpackhi_epi32(a, b));
    }
}

}  // namespace
