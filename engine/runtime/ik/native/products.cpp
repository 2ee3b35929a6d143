// Matrix products for few tokens at once with weights of the types Q4_K, Q5_K and Q6_K as ik_llama.cpp repacks them,
// for processors with AVX-512 and VNNI.
//
// ik_llama.cpp's own take four rows of weights at a time and shuffle the tokens' numbers again for each four. Here each
// of a register's 16 lanes is a row of its own, and four numbers of a token are broadcast to all of them by the load
// itself. And what comes next is asked of the memory meanwhile: across rows the processor does not guess it.
// docs/products.md says what that gives.
//
#include "products.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "chickadee_ik.hpp"
#include "lanes.hpp"
#include "output_head.hpp"

namespace {

INLINE void add_block(const Q6 & a, const Q6 & b, const Q6 & c, const Q6 & d, const char * ahead,
                      const auto & token, auto & result) {
    constexpr int tokens = std::tuple_size_v<std::remove_cvref_t<decltype(token)>>;
    const auto low = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(0x30);
    alignas(64) int8_t scales[16 * ROWS];
    gather(a.scales, b.scales, c.scales, d.scales, 16, scales);
    alignas(64) int32_t offsets[tokens][16];  // a weight is its quant less 32
    __m512i sums[tokens];
    for (int i = 0; i < tokens; ++i) {
        for (int s = 0; s < 16; ++s) offsets[i][s] = -32 * token[i]->sums[s];
        sums[i] = _mm512_setzero_si512();
    }
    for (int part = 0; part < 8; ++part) {
        ask_for(ahead, part, GROUPS * sizeof(Q6));
        Halves low1(a.low[part][0], b.low[part][0], c.low[part][0], d.low[part][0]);
        Halves low2(a.low[part][1], b.low[part][1], c.low[part][1], d.low[part][1]);
        Halves highs(a.high[part], b.high[part], c.high[part], d.high[part]);
        auto add_sixteen = [&](__m512i l1, __m512i l2, __m512i h, int s) __attribute__((always_inline)) {
            auto q0 = either(l1, low, _mm512_and_si512(_mm512_slli_epi16(h, 4), high));
            auto q1 = either(l2, low, _mm512_and_si512(h, high));
            auto q2 = either(_mm512_srli_epi16(l1, 4), low, _mm512_and_si512(_mm512_slli_epi16(h, 2), high));
            auto q3 = either(_mm512_srli_epi16(l2, 4), low, _mm512_and_si512(_mm512_srli_epi16(h, 2), high));
            auto scale = widened(scales + ROWS * s);
            for (int i = 0; i < tokens; ++i) {
                auto y = token[i]->quants + 16 * s;
                auto sum = dot(dot(dot(dot(broadcast(&offsets[i][s]), q0, y), q1, y + 4), q2, y + 8), q3, y + 12);
                sums[i] = times_scale(sums[i], sum, scale);
            }
        };
        add_sixteen(low1.first, low2.first, highs.first, 2 * part);
        add_sixteen(low1.second, low2.second, highs.second, 2 * part + 1);
    }
    auto scale = floats(a.d, b.d, c.d, d.d);
    for (int i = 0; i < tokens; ++i) {
        auto factor = _mm512_mul_ps(scale, _mm512_set1_ps(token[i]->d));
        result[i] = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(sums[i]), result[i]);
    }
}

// Of four rows: scales, and what is taken off, of six bits each.
struct Unpacked {
    alignas(32) int8_t scales[32], mins[32];

    INLINE explicit Unpacked(const auto & x) {
        const auto low = _mm256_set1_epi8(0x0f), high = _mm256_set1_epi8(0x30);
        auto l = _mm256_loadu_si256((const __m256i *)x.scales_low);
        auto second = _mm_loadu_si128((const __m128i *)x.scales_high);
        auto h = _mm256_set_m128i(second, _mm_slli_epi16(second, 4));
        auto scale = _mm256_or_si256(_mm256_and_si256(l, low), _mm256_and_si256(h, high));
        l = _mm256_srli_epi16(l, 4), h = _mm256_srli_epi16(h, 2);
        auto min = _mm256_or_si256(_mm256_and_si256(l, low), _mm256_and_si256(h, high));
        _mm256_store_si256((__m256i *)scales, scale);
        _mm256_store_si256((__m256i *)mins, min);
    }
};

// The fifth bits of a row's quants, which stand as bits 0, 2, 1 and 3 of a byte, the second half's in bits 4 to 7.
INLINE void add_fifth_bits(const Q5 & a, const Q5 & b, const Q5 & c, const Q5 & d, int part, __m512i * q) {
    auto sixteen = [=](const Q5 & x) { return _mm_loadu_si128((const __m128i *)x.high[part]); };
    auto ab = _mm256_set_m128i(sixteen(b), sixteen(a)), cd = _mm256_set_m128i(sixteen(d), sixteen(c));
    auto second = _mm512_inserti64x4(_mm512_castsi256_si512(ab), cd, 1), first = _mm512_slli_epi16(second, 4);
    const auto bit = _mm512_set1_epi8(0x10);
    auto add = [&](__m512i & quants, __m512i bits) { quants = either(bits, bit, quants); };
    for (int half = 0; half < 2; ++half) {
        auto bits = half ? second : first;
        add(q[4 * half], bits);
        add(q[4 * half + 1], _mm512_srli_epi16(bits, 2));
        add(q[4 * half + 2], _mm512_srli_epi16(bits, 1));
        add(q[4 * half + 3], _mm512_srli_epi16(bits, 3));
    }
}
INLINE void add_fifth_bits(const Q4 &, const Q4 &, const Q4 &, const Q4 &, int, __m512i *) {}

template <typename Block>  // Q4 or Q5
INLINE void add_block(const Block & a, const Block & b, const Block & c, const Block & d, const char * ahead,
                      const auto & token, auto & result) {
    constexpr int tokens = std::tuple_size_v<std::remove_cvref_t<decltype(token)>>;
    const auto low = _mm512_set1_epi8(0x0f);
    auto lower = [&](__m512i x) { return _mm512_and_si512(x, low); };
    auto upper = [&](__m512i x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), low); };
    alignas(64) int8_t scales[8 * ROWS], mins[8 * ROWS];
    Unpacked ua(a), ub(b), uc(c), ud(d);
    gather(ua.scales, ub.scales, uc.scales, ud.scales, 8, scales);
    gather(ua.mins, ub.mins, uc.mins, ud.mins, 8, mins);
    auto d_min = floats(a.min, b.min, c.min, d.min);
    __m512i sums[tokens];
    for (int i = 0; i < tokens; ++i) sums[i] = _mm512_setzero_si512();
    for (int part = 0; part < 8; ++part) {
        ask_for(ahead, part, GROUPS * sizeof(Block));
        Halves even(a.quants[part][0], b.quants[part][0], c.quants[part][0], d.quants[part][0]);
        Halves odd(a.quants[part][1], b.quants[part][1], c.quants[part][1], d.quants[part][1]);
        __m512i q[8] = {
            lower(even.first), lower(odd.first), upper(even.first), upper(odd.first),
            lower(even.second), lower(odd.second), upper(even.second), upper(odd.second),
        };
        add_fifth_bits(a, b, c, d, part, q);
        auto scale = widened(scales + ROWS * part);
        auto min = _mm512_mul_ps(d_min, _mm512_cvtepi32_ps(widened(mins + ROWS * part)));
        for (int i = 0; i < tokens; ++i) {
            auto y = token[i]->quants + 32 * part;
            auto sum = _mm512_setzero_si512();
            for (int j = 0; j < 8; ++j) sum = dot(sum, q[j], y + 4 * j);
            sums[i] = times_scale(sums[i], sum, scale);
            result[i] = _mm512_fnmadd_ps(min, _mm512_set1_ps(token[i]->scaled_sums[part]), result[i]);
        }
    }
    auto scale = floats(a.d, b.d, c.d, d.d);
    for (int i = 0; i < tokens; ++i) {
        auto factor = _mm512_mul_ps(scale, _mm512_set1_ps(token[i]->d));
        result[i] = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(sums[i]), result[i]);
    }
}

template <typename Block> Products theirs;  // for the rows that are left when there are no 16 more

template <typename Block, int tokens>
void product(int n, const void * weights, size_t stride, const DataInfo & info, int rows) {
    if constexpr (std::is_same_v<Block, Q6>)
        if (auto head = OutputHead::of(weights)) return head->multiply<tokens>(weights, info, rows);
    const int blocks = n / BLOCK, whole = rows / ROWS * ROWS;
    const Token * first[tokens];
    for (int i = 0; i < tokens; ++i) first[i] = (const Token *)info.src1_row(i);
    for (int row = 0; row < whole; row += ROWS) {
        auto place = (const char *)weights + row * stride;
        const Block * group[GROUPS];
        for (int g = 0; g < GROUPS; ++g) group[g] = (const Block *)(place + 4 * g * stride);
        auto ahead = place + ROWS * stride;
        Vectors<tokens> result;
        for (auto & r : result) r = _mm512_setzero_ps();
        for (int block = 0; block < blocks; ++block, ahead += GROUPS * sizeof(Block)) {
            std::array<const Token *, tokens> token;
            for (int i = 0; i < tokens; ++i) token[i] = first[i] + block;
            add_block(group[0][block], group[1][block], group[2][block], group[3][block], ahead, token, result);
        }
        for (int i = 0; i < tokens; ++i) _mm512_storeu_ps(info.dst_row(i) + row, result[i]);
    }
    if (whole == rows) return;
    auto rest = info;
    rest.s += whole;
    theirs<Block>[tokens - 1](n, (const char *)weights + whole * stride, stride, rest, rows - whole);
}

template <typename Block, size_t... i> void replace(Products & products, std::index_sequence<i...>) {
    ((products[i] = product<Block, i + 1>), ...);
}

}  // namespace

bool keep_theirs(SetKernels set_theirs) {
    Product of_sixteen;
    return set_theirs(BLOCK, GGML_TYPE_Q4_K_R4, GGML_TYPE_Q8_K32, theirs<Q4>, of_sixteen) &&
           set_theirs(BLOCK, GGML_TYPE_Q5_K_R4, GGML_TYPE_Q8_K32, theirs<Q5>, of_sixteen) &&
           set_theirs(BLOCK, GGML_TYPE_Q6_K_R4, GGML_TYPE_Q8_K, theirs<Q6>, of_sixteen);
}

bool replace(int type, Products & products) {
    const auto counts = std::make_index_sequence<MOST_TOKENS>();
    switch (type) {
        case GGML_TYPE_Q4_K_R4: replace<Q4>(products, counts); return true;
        case GGML_TYPE_Q5_K_R4: replace<Q5>(products, counts); return true;
        case GGML_TYPE_Q6_K_R4: replace<Q6>(products, counts); return true;
        default: return false;
    }
}

size_t output_head_room(int n, int rows) { return OutputHead::room(n, rows); }

int output_head_split(const ggml_tensor * head, int rows) {
    const bool fits = head->type == GGML_TYPE_Q6_K_R4 && head->ne[1] == rows && head->ne[2] == 1 && head->ne[3] == 1;
    if (!fits || head->ne[0] > MOST_BLOCKS * BLOCK) return -1;
    for (int number = 0; number < MOST_HEADS; ++number)
        if (!output_heads[number].weights)
            return output_heads[number].split((char *)head->data, int(head->ne[0]), rows) ? number : -1;
    return -1;
}

void output_head_forget(int number) { output_heads[number].forget(); }

void output_head_rough(int number, bool on) { output_heads[number].may_be_rough = on; }

int output_head_finish(int number, int row, float * logits, int count) {
    return output_heads[number].finish(row, logits, count);
}

const float * output_head_deviations(int number, int row) { return output_heads[number].rows[row].deviations; }
