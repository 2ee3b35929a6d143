// Matrix products with weights of the types Q4_K, Q5_K, Q6_K, Q4_0, Q8_0, IQ4_NL and IQ4_XS as
// ik_llama.cpp repacks them. Compiled for each set of instructions (packaging/ik_native.py).
//
// ik_llama.cpp's own products take four rows of weights at a time and shuffle the tokens' numbers again for each four
// rows. Here each lane of a register holds a row of its own, and the load itself broadcasts four numbers of a token to
// all lanes. The weights of the next rows are prefetched, because the processor does not predict accesses across rows.
// docs/products.md gives the speed-up.
#include "products.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

#include "chickadee_ik.hpp"
#include "lanes.hpp"
#include "eight_rows.hpp"
#include "output_head.hpp"

namespace {

constexpr int LONGEST = 128;  // blocks of a row whose offsets are kept; for longer rows they are computed per register

// Pointers to the blocks of a register's rows, to the rows that follow, and to the tokens' blocks of the same columns.
template <typename Block, int tokens> struct Where {
    const Block * block[GROUPS];
    const char * ahead;
    const Token * token[tokens];
    const int32_t * offsets[tokens];  // used with Q6 only
};

// Unpack 16 weights of all rows, four in each lane, from bytes with their lower and their two upper bits.
INLINE void unpack_six(Ints low1, Ints low2, Ints upper, Ints * weights) {
    const auto low = bytes(0x0f), high = bytes(0x30);
    weights[0] = either(low1, low, up<4>(upper) & high);
    weights[1] = either(low2, low, upper & high);
    weights[2] = either(down<4>(low1), low, up<2>(upper) & high);
    weights[3] = either(down<4>(low2), low, down<2>(upper) & high);
}

template <int tokens>
INLINE void add_block(const Where<Q6, tokens> & where, Vectors<tokens> & result) {
    auto & block = where.block;
    alignas(64) int8_t scales[16 * ROWS];
    gather([&](int g) INLINED { return block[g]->scales; }, 16, scales);
    Ints sums[tokens];
    for (auto & sum : sums) sum = no_ints();
    for (int part = 0; part < 8; ++part) {
        ask_for(where.ahead, part, GROUPS * sizeof(Q6));
        Halves low1([&](int g) INLINED { return block[g]->low[part][0]; });
        Halves low2([&](int g) INLINED { return block[g]->low[part][1]; });
        Halves highs([&](int g) INLINED { return block[g]->high[part]; });
        auto add = [&](Ints l1, Ints l2, Ints h, int s) INLINED {
            Ints weights[4];
            unpack_six(l1, l2, h, weights);
            auto scale = scale_of(scales + ROWS * s);
            for (int i = 0; i < tokens; ++i)
                sums[i] = add_16(sums[i], weights, where.token[i]->quants + 16 * s, where.offsets[i] + s, scale);
        };
        add(low1.first, low2.first, highs.first, 2 * part);
        add(low1.second, low2.second, highs.second, 2 * part + 1);
    }
    auto d = halves_to_floats([&](int g) INLINED { return block[g]->d; });
    for (int i = 0; i < tokens; ++i)
        result[i] = plus_product(result[i], d * all(where.token[i]->d), to_floats(sums[i]));
}

// Scales and minimums of four rows, of six bits each. A weight is its quant times a scale, less a minimum.
struct Unpacked {
    alignas(32) int8_t scales[32], mins[32];

    INLINE void operator=(const auto & x) {
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

// Unpack the scales and minimums of all rows; those of one part lie together.
INLINE void scales_and_mins(const auto * const * block, int8_t * scales, int8_t * mins) {
    Unpacked unpacked[GROUPS];
    for (int g = 0; g < GROUPS; ++g) unpacked[g] = *block[g];
    gather([&](int g) INLINED { return unpacked[g].scales; }, 8, scales);
    gather([&](int g) INLINED { return unpacked[g].mins; }, 8, mins);
}

// Add the fifth bits of a row's quants. They are bits 0, 2, 1 and 3 of a byte; those of the second half are bits 4 to
// 7.
INLINE void add_fifth_bits(const Q5 * const * block, int part, Ints * q) {
    const auto bit = bytes(0x10);
    auto second = sixteens([&](int g) INLINED { return block[g]->high[part]; }), first = up<4>(second);
    for (int half = 0; half < 2; ++half, q += 4) {
        auto bits = half ? second : first;
        q[0] = either(bits, bit, q[0]);
        q[1] = either(down<2>(bits), bit, q[1]);
        q[2] = either(down<1>(bits), bit, q[2]);
        q[3] = either(down<3>(bits), bit, q[3]);
    }
}
INLINE void add_fifth_bits(const Q4 * const *, int, Ints *) {}

// Unpack the 32 weights of part `part` of all rows, four in each lane.
template <typename Block>  // Q4 or Q5
INLINE void unpack(const Block * const * block, int part, Ints * weights) {
    const auto low = bytes(0x0f);
    Halves even([&](int g) INLINED { return block[g]->quants[part][0]; });
    Halves odd([&](int g) INLINED { return block[g]->quants[part][1]; });
    const Ints quants[8] = {
        even.first & low,  odd.first & low,  down<4>(even.first) & low,  down<4>(odd.first) & low,
        even.second & low, odd.second & low, down<4>(even.second) & low, down<4>(odd.second) & low,
    };
    for (int i = 0; i < 8; ++i) weights[i] = quants[i];
    add_fifth_bits(block, part, weights);
}

// Compute the minimum of each part's weights.
template <typename Block> INLINE void minimums_of(const Block * const * block, const int8_t * mins, Floats * to) {
    auto d = halves_to_floats([&](int g) INLINED { return block[g]->min; });
    for (int part = 0; part < 8; ++part) to[part] = d * to_floats(widened(mins + ROWS * part));
}

// Subtract the minimum of each part's weights, times the sum of the token's numbers in that part.
template <typename Block, int tokens>
INLINE void take_off(const Where<Block, tokens> & where, const int8_t * mins, Vectors<tokens> & result) {
    Floats min[8];
    minimums_of(where.block, mins, min);
    for (int i = 0; i < tokens; ++i)
        for (int part = 0; part < 8; ++part)
            result[i] = less_product(result[i], min[part], all(where.token[i]->scaled_sums[part]));
}

template <typename Block, int tokens>  // Q4 or Q5
INLINE void add_block(const Where<Block, tokens> & where, Vectors<tokens> & result) {
    constexpr int most = std::is_same_v<Block, Q4> ? 15 : 31;
    auto & block = where.block;
    alignas(64) int8_t scales[8 * ROWS], mins[8 * ROWS];
    scales_and_mins(block, scales, mins);
    take_off(where, mins, result);
    Ints sums[tokens];
    for (auto & sum : sums) sum = no_ints();
    for (int part = 0; part < 8; ++part) {
        ask_for(where.ahead, part, GROUPS * sizeof(Block));
        Ints weights[8];
        unpack(block, part, weights);
        auto scale = scale_of(scales + ROWS * part);
        for (int i = 0; i < tokens; ++i)
            sums[i] = add_32<most>(sums[i], weights, where.token[i]->quants + 32 * part, scale);
    }
    auto d = halves_to_floats([&](int g) INLINED { return block[g]->d; });
    for (int i = 0; i < tokens; ++i)
        result[i] = plus_product(result[i], d * all(where.token[i]->d), to_floats(sums[i]));
}

// Pointers to the blocks of a register's rows. If fewer rows are left than a register holds, the last four rows
// fill the rest of it.
template <typename Block> struct Rows {
    const Block * block[GROUPS];

    INLINE Rows(const char * from, size_t stride, int left) {
        for (int g = 0; g < GROUPS; ++g) block[g] = (const Block *)(from + (4 * g < left ? 4 * g : left - 4) * stride);
    }
};

// Compute the product of `tokens` tokens and `rows` rows, a multiple of four.
template <typename Block, int tokens>
void product(int n, const void * weights, size_t stride, const DataInfo & info, int rows) {
    if constexpr (std::is_same_v<Block, Q6>)
        if (auto head = OutputHead::of(weights)) return head->multiply<tokens>(weights, info, rows);
    const int blocks = n / BLOCK, kept = std::is_same_v<Block, Q6> && blocks <= LONGEST ? blocks : 0;
    const Token * first[tokens];
    int32_t offsets[tokens][std::is_same_v<Block, Q6> ? SCALES * LONGEST : 1];
    for (int i = 0; i < tokens; ++i) {
        first[i] = (const Token *)info.src1_row(i);
        for (int block = 0; block < kept; ++block) offsets_of(first[i][block], offsets[i] + SCALES * block);
    }
    for (int row = 0; row < rows; row += ROWS) {
        auto from = (const char *)weights + row * stride;
        Where<Block, tokens> where;
        const Rows<Block> of(from, stride, rows - row);
        for (int g = 0; g < GROUPS; ++g) where.block[g] = of.block[g];
        where.ahead = from + ROWS * stride;
        for (int i = 0; i < tokens; ++i) where.token[i] = first[i], where.offsets[i] = offsets[i];
        Vectors<tokens> result;
        for (auto & r : result) r = no_floats();
        for (int block = 0; block < blocks; ++block, where.ahead += GROUPS * sizeof(Block)) {
            if constexpr (std::is_same_v<Block, Q6>)
                if (!kept)
                    for (int i = 0; i < tokens; ++i) offsets_of(*where.token[i], offsets[i]);
            add_block(where, result);
            for (auto & of : where.block) ++of;
            for (int i = 0; i < tokens; ++i) ++where.token[i], where.offsets[i] += kept ? SCALES : 0;
        }
        for (int i = 0; i < tokens; ++i) store(info.dst_row(i) + row, result[i], lanes_of(rows - row));
    }
}

}  // namespace

#include "attention.hpp"
#include "long_passes.hpp"

namespace {

template <typename Block, size_t... i>
void replace_all(Products & products, Product & of_sixteen, std::index_sequence<i...>) {
    ((products[i] = product<Block, i + 1>), ...);
    of_sixteen = long_product<Block>;
}

bool replace(int n, int type, Products & products, Product & of_sixteen) {
    const auto counts = std::make_index_sequence<MOST_TOKENS>();
    const bool is_short = n <= MOST_SHORT * SHORT;
    switch (type) {
        case GGML_TYPE_Q4_K_R4: replace_all<Q4>(products, of_sixteen, counts); return true;
        case GGML_TYPE_Q5_K_R4: replace_all<Q5>(products, of_sixteen, counts); return true;
        case GGML_TYPE_Q6_K_R4: replace_all<Q6>(products, of_sixteen, counts); return true;
        case GGML_TYPE_Q4_0_R8:
            if (is_short) replace_short<ShortQ4>(products, of_sixteen, counts);
            return is_short;
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
        // Without an instruction for products of four bytes, our products for eight-bit weights and for weights from a
        // table are no faster than the library's.
        case GGML_TYPE_Q8_0_R8:
            if (is_short) replace_short<ShortQ8>(products, of_sixteen, counts);
            return is_short;
        case GGML_TYPE_IQ4_NL_R4:
            if (is_short) replace_short<ShortTable>(products, of_sixteen, counts);
            return is_short;
        case GGML_TYPE_IQ4_XS_R8:
            if (is_short) replace_table(products, of_sixteen, counts);
            return is_short;
#endif
        default: return false;
    }
}

int split_head(const ggml_tensor * head, int rows) {
    const bool fits = head->type == GGML_TYPE_Q6_K_R4 && head->ne[1] == rows && head->ne[2] == 1 && head->ne[3] == 1;
    if (!fits || head->ne[0] > MOST_BLOCKS * BLOCK) return -1;
    for (int number = 0; number < MOST_HEADS; ++number)
        if (!output_heads[number].weights)
            return output_heads[number].split((char *)head->data, int(head->ne[0]), rows) ? number : -1;
    return -1;
}

void forget_head(int number) { output_heads[number].forget(); }

void set_head_rough(int number, bool on) { output_heads[number].may_be_rough = on; }

int finish_head(int number, int row, float * logits, int count) {
    return output_heads[number].finish(row, logits, count);
}

const float * head_deviations(int number, int row) { return output_heads[number].rows[row].deviations; }

}  // namespace

#if defined(__AVX512VNNI__)
constinit const ProductSet avx512_products
#elif defined(__AVXVNNI__)
constinit const ProductSet avx_vnni_products
#else
constinit const ProductSet avx2_products
#endif
    = {replace, ROWS, OutputHead::room, split_head, forget_head, set_head_rough, finish_head, head_deviations,
       long_pass_room, attend, attention_room};
