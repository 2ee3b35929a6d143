// Registers of weights: 32 bytes of one row with AVX2 and AVX-VNNI, 32 bytes of each of two rows with AVX-512.
//
// A row's numbers are the same in both, and are added in the same order, so that all sets of instructions compute the
// same bits.
#pragma once
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#define INLINE inline __attribute__((always_inline))
#define INLINED __attribute__((always_inline))  // a lambda

namespace {

INLINE __m128i load_16(const void * from) { return _mm_loadu_si128((const __m128i *)from); }
INLINE __m256i load_32(const void * from) { return _mm256_loadu_si256((const __m256i *)from); }
INLINE __m256i beside(__m128i low, __m128i high) { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }

INLINE float half_to_float(uint16_t half) { return _cvtsh_ss(half); }
// Eight floats: four times the first float16, four times the second.
INLINE __m256 four_of_each(uint16_t first, uint16_t second) {
    auto both = _mm_cvtph_ps(_mm_cvtsi32_si128(first | second << 16));
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(both), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}
INLINE __m256 eight_of(uint16_t half) {
    return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}
INLINE float sum_of(__m256 x) {
    auto four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    auto two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#ifdef __AVX512VNNI__

using Ints = __m512i;
using Floats = __m512;
constexpr int ROWS = 2;  // of a register
constexpr int TILE = 8;  // tokens that are computed together: their sums stay in registers

INLINE Ints of_rows(const auto & of) { return _mm512_inserti64x4(_mm512_castsi256_si512(of(0)), of(1), 1); }
INLINE Floats floats_of_rows(const auto & of) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(of(0)), of(1), 1);
}
INLINE Ints for_all(const void * from) { return _mm512_broadcast_i64x4(load_32(from)); }
INLINE Floats floats_for_all(const float * from) { return _mm512_broadcast_f32x8(_mm256_loadu_ps(from)); }
INLINE Ints bytes(char all) { return _mm512_set1_epi8(all); }
INLINE Floats no_floats() { return _mm512_setzero_ps(); }
INLINE Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
INLINE Floats plus_product(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
INLINE Ints average(Ints a, Ints b) { return _mm512_avg_epu8(a, b); }
INLINE Ints less_one(Ints x) { return _mm512_subs_epu8(x, bytes(1)); }
INLINE Ints sum_of_bytes(Ints a, Ints b) { return _mm512_add_epi8(a, b); }
INLINE float sum_of_row(Floats x, int row) {
    return sum_of(row ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x));
}
INLINE __m256i first_row(Ints x) { return _mm512_castsi512_si256(x); }

#else

using Ints = __m256i;
using Floats = __m256;
constexpr int ROWS = 1;
constexpr int TILE = 4;

INLINE Ints of_rows(const auto & of) { return of(0); }
INLINE Floats floats_of_rows(const auto & of) { return of(0); }
INLINE Ints for_all(const void * from) { return load_32(from); }
INLINE Floats floats_for_all(const float * from) { return _mm256_loadu_ps(from); }
INLINE Ints bytes(char all) { return _mm256_set1_epi8(all); }
INLINE Floats no_floats() { return _mm256_setzero_ps(); }
INLINE Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
INLINE Floats plus_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
INLINE Ints average(Ints a, Ints b) { return _mm256_avg_epu8(a, b); }
INLINE Ints less_one(Ints x) { return _mm256_subs_epu8(x, bytes(1)); }
INLINE Ints sum_of_bytes(Ints a, Ints b) { return _mm256_add_epi8(a, b); }
INLINE float sum_of_row(Floats x, int) { return sum_of(x); }
INLINE __m256i first_row(Ints x) { return x; }

#endif

// Shift the 16-bit numbers of a register. The bits that cross from byte to byte must be masked away afterwards.
using Pairs = uint16_t __attribute__((vector_size(sizeof(Ints))));
template <int bits> INLINE Ints up(Ints x) { return (Ints)((Pairs)x << bits); }
template <int bits> INLINE Ints down(Ints x) { return (Ints)((Pairs)x >> bits); }

// Return `begin` plus the products of `planes` registers of weights and a token's numbers, four products in each lane.
template <int planes> INLINE Ints products_of(const Ints * weights, const int8_t (*numbers)[32], const int32_t * begin) {
#if defined(__AVX512VNNI__)
    auto sum = for_all(begin);
    for (int i = 0; i < planes; ++i) sum = _mm512_dpbusd_epi32(sum, weights[i], for_all(numbers[i]));
    return sum;
#elif defined(__AVXVNNI__)
    auto sum = for_all(begin);
    for (int i = 0; i < planes; ++i) sum = _mm256_dpbusd_avx_epi32(sum, weights[i], for_all(numbers[i]));
    return sum;
#else
    // A weight is at most 3, a number at most 128: sixteen bits hold 42 times two products.
    static_assert(planes <= 42);
    auto sum = _mm256_maddubs_epi16(weights[0], load_32(numbers[0]));
    for (int i = 1; i < planes; ++i) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights[i], load_32(numbers[i])));
    return _mm256_add_epi32(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)), load_32(begin));
#endif
}

}  // namespace
