// Products with weights of the types Q4_0, Q8_0, IQ4_NL and IQ4_XS, which ik_llama.cpp repacks into blocks of eight
// rows, IQ4_NL of four. Included by products.cpp.
//
// The instructions for products of bytes need one factor to be unsigned. So a constant is added to each weight; the
// excess in the result follows from the sum of the token's numbers alone and is subtracted.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "lanes.hpp"
#include "products.hpp"

namespace {

constexpr int SHORT = 32;         // weights of a row that share a scale
constexpr int MOST_SHORT = 1024;  // parts of SHORT weights in a row; longer rows are left to the library

// Blocks of eight rows, four bytes of each row side by side. In Q4_0 a byte's lower bits are the quant of a column, its
// upper bits the quant of the column 16 further on.
struct ShortQ4 {
    uint16_t d[8];
    uint8_t quants[4][32];
};
struct ShortQ8 {
    uint16_t d[8];
    uint8_t quants[8][32];  // signed
};
// Weights are places in a table. The first half of `quants[i]` has columns 4 i to 4 i + 3 of each row as lower bits,
// and the columns 8 further on as upper bits; the second half has the columns 16 further on.
struct ShortTable {
    uint16_t d[4];
    uint8_t quants[2][32];
};
// 256 weights of each row, which are places in the same table. Scales have six bits.
struct TableQ4 {
    uint16_t d[8];
    uint8_t scales_high[16], scales_low[32];
    uint8_t quants[8][4][32];
};
// Four blocks of a token; the rest at a row's end is in single blocks. `d` and `sum` are the upper halves of floats.
struct ShortTokens {
    uint16_t d[4], sum[4];
    int8_t quants[4][SHORT];
};
struct ShortToken {
    uint16_t d, sum;
    int8_t quants[SHORT];
};
static_assert(sizeof(ShortQ4) == sizeof(block_iq4_nl_r8) && offsetof(ShortQ4, quants) == offsetof(block_iq4_nl_r8, qs));
static_assert(sizeof(ShortQ8) == sizeof(block_q8_0_r8) && offsetof(ShortQ8, quants) == offsetof(block_q8_0_r8, qs));
static_assert(sizeof(ShortTable) == sizeof(block_iq4_nl_r4) &&
              offsetof(ShortTable, quants) == offsetof(block_iq4_nl_r4, qs));
static_assert(sizeof(TableQ4) == sizeof(block_iq4_xs_r8) && offsetof(TableQ4, quants) == offsetof(block_iq4_xs_r8, qs) &&
              offsetof(TableQ4, scales_high) == offsetof(block_iq4_xs_r8, scales_h) &&
              offsetof(TableQ4, scales_low) == offsetof(block_iq4_xs_r8, scales_l));
static_assert(sizeof(ShortTokens) == sizeof(block_q8_2_x4) && offsetof(ShortTokens, quants) == offsetof(block_q8_2_x4, qs));
static_assert(sizeof(ShortToken) == sizeof(block_q8_2) && offsetof(ShortToken, quants) == offsetof(block_q8_2, qs));

template <typename Block> constexpr int TOGETHER = sizeof(Block::d) / sizeof(uint16_t);  // rows of a block
template <typename Block> constexpr int BESIDE = ROWS / TOGETHER<Block>;                // blocks of a register

// The constant that is added to each weight of a block to make the weight unsigned.
template <typename Block> constexpr int MORE = std::is_same_v<Block, ShortQ4> ? 8 : 128;

// The weights of IQ4_NL and IQ4_XS, with the added constant.
alignas(16) constexpr uint8_t TABLE[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};

// Unpack 32 weights of all rows, four in each lane.
INLINE void unpack(const ShortQ4 * const * block, Ints * weights) {
    const auto low = bytes(0x0f);
    for (int i = 0; i < 4; ++i) {
        auto both = eights([&](int g) INLINED { return block[g]->quants[i]; });
        weights[i] = both & low;
        weights[i + 4] = down<4>(both) & low;
    }
}
INLINE void unpack(const ShortQ8 * const * block, Ints * weights) {
    const auto sign = bytes(char(0x80));
    for (int i = 0; i < 8; ++i) weights[i] = eights([&](int g) INLINED { return block[g]->quants[i]; }) ^ sign;
}

INLINE void unpack(const ShortTable * const * block, Ints * weights) {
    const auto low = bytes(0x0f), table = table_of(TABLE);
    auto looked_up_both = [&](Ints both, int i) INLINED {
        weights[i] = looked_up(table, both & low);
        weights[i + 2] = looked_up(table, down<4>(both) & low);
    };
    for (int i = 0; i < 2; ++i) {
        Halves halves([&](int g) INLINED { return block[g]->quants[i]; });
        looked_up_both(halves.first, i);
        looked_up_both(halves.second, i + 4);
    }
}

// Unpack the 32 weights of part `part`.
INLINE void unpack(const TableQ4 * const * block, int part, Ints * weights) {
    const auto low = bytes(0x0f), table = table_of(TABLE);
    for (int i = 0; i < 4; ++i) {
        auto both = eights([&](int g) INLINED { return block[g]->quants[part][i]; });
        weights[2 * i] = looked_up(table, both & low);
        weights[2 * i + 1] = looked_up(table, down<4>(both) & low);
    }
}

// Store the offsets that the sums of four parts of a token, 32 numbers each, begin with.
template <typename Block> INLINE void keep_offsets(const int8_t * quants, int32_t * to) {
    auto sums = [&](int part) INLINED {
        auto pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_loadu_si256((const __m256i *)quants + part));
        return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    };
    auto of_halves = _mm256_hadd_epi32(_mm256_hadd_epi32(sums(0), sums(1)), _mm256_hadd_epi32(sums(2), sums(3)));
    auto all = _mm_add_epi32(_mm256_castsi256_si128(of_halves), _mm256_extracti128_si256(of_halves, 1));
    _mm_storeu_si128((__m128i *)to, begin_with(_mm_mullo_epi32(all, _mm_set1_epi32(-MORE<Block>))));
}

// A token in short blocks: where its numbers lie, the offsets that their sums begin with, and their scales.
struct Numbers {
    const char * row;
    int in_fours;
    int32_t offsets[MOST_SHORT + 4];
    float scales[MOST_SHORT + 4];

    template <typename Block> INLINE void prepare(const void * token, int blocks) {
        row = (const char *)token, in_fours = blocks / 4 * 4;
        for (int block = 0; block < in_fours; block += 4) {
            auto & four = ((const ShortTokens *)row)[block / 4];
            keep<Block>(four.quants[0], four.d, block);
        }
        if (in_fours == blocks) return;
        int8_t last[4][SHORT] = {};
        uint16_t d[4] = {};
        for (int block = in_fours; block < blocks; ++block) {
            auto & one = ((const ShortToken *)row)[block];
            memcpy(last[block - in_fours], one.quants, SHORT);
            d[block - in_fours] = one.d;
        }
        keep<Block>(last[0], d, in_fours);
    }
    template <typename Block> INLINE void keep(const int8_t * quants, const uint16_t * d, int block) {
        keep_offsets<Block>(quants, offsets + block);
        auto upper_halves = _mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)d)), 16);
        _mm_storeu_si128((__m128i *)(scales + block), upper_halves);
    }
    INLINE const int8_t * quants(int block) const {
        return block < in_fours ? ((const ShortTokens *)row)[block / 4].quants[block % 4]
                                : ((const ShortToken *)row)[block].quants;
    }
};

// The blocks of a register's rows from `row` on. If fewer rows are left than a register holds, the first rows fill it.
template <typename Block> struct Blocks {
    const Block * block[BESIDE<Block>];
    const char * ahead;

    INLINE Blocks(const void * weights, size_t stride, int row, int rows) {
        auto from = (const char *)weights + row * stride;
        for (int g = 0; g < BESIDE<Block>; ++g) {
            const int first = g * TOGETHER<Block>;
            block[g] = (const Block *)(from + (row + first < rows ? first : 0) * stride);
        }
        ahead = from + ROWS * stride;
    }
    INLINE void ask_ahead(int part) const { ask_for(ahead, part, BESIDE<Block> * sizeof(Block)); }
    INLINE Floats scales() const {
        auto d = [&](int g) INLINED { return block[g]->d; };
        if constexpr (TOGETHER<Block> == 8) return eights_to_floats(d);
        else return halves_to_floats(d);
    }
    INLINE void next() {
        for (auto & of : block) ++of;
        ahead += BESIDE<Block> * sizeof(Block);
    }
};

template <typename Block, int tokens>
void short_product(int n, const void * weights, size_t stride, const DataInfo & info, int rows) {
    const int blocks = n / SHORT;
    Numbers numbers[tokens];
    for (int i = 0; i < tokens; ++i) numbers[i].template prepare<Block>(info.src1_row(i), blocks);
    for (int row = 0; row < rows; row += ROWS) {
        Blocks<Block> here(weights, stride, row, rows);
        Vectors<tokens> result;
        for (auto & r : result) r = no_floats();
        for (int block = 0; block < blocks; ++block, here.next()) {
            for (int part = 0; part < 8; ++part) here.ask_ahead(part);
            Ints unpacked[8];
            unpack(here.block, unpacked);
            auto d = here.scales();
            for (int i = 0; i < tokens; ++i) {
                auto sum = to_floats(short_sum(unpacked, numbers[i].quants(block), numbers[i].offsets + block));
                result[i] = plus_product(result[i], d * all(numbers[i].scales[block]), sum);
            }
        }
        for (int i = 0; i < tokens; ++i) store(info.dst_row(i) + row, result[i], lanes_of(rows - row));
    }
}

// Unpack the scales of all rows for each part from the bits of blocks of eight rows.
INLINE void unpack_scales(const TableQ4 * const * block, int8_t (*to)[ROWS]) {
    const auto low = _mm256_set1_epi8(0x0f), high = _mm256_set1_epi8(0x30), less = _mm256_set1_epi8(32);
    for (int g = 0; g < BESIDE<TableQ4>; ++g) {
        auto l = _mm256_loadu_si256((const __m256i *)block[g]->scales_low);
        auto first = _mm_loadu_si128((const __m128i *)block[g]->scales_high);
        auto h = _mm256_set_m128i(_mm_srli_epi16(first, 2), first);
        alignas(32) int64_t scales[8];  // one part each, with a byte for each of eight rows
        auto keep = [&](int at, __m256i low_bits, __m256i high_bits) INLINED {
            auto all = _mm256_or_si256(_mm256_and_si256(low_bits, low), _mm256_and_si256(high_bits, high));
            _mm256_store_si256((__m256i *)(scales + at), _mm256_sub_epi8(all, less));
        };
        keep(0, l, _mm256_slli_epi16(h, 4));
        keep(4, _mm256_srli_epi16(l, 4), h);
        for (int part = 0; part < 8; ++part) memcpy(to[part] + 8 * g, scales + part, 8);
    }
}

template <int tokens>
void table_product(int n, const void * weights, size_t stride, const DataInfo & info, int rows) {
    const int blocks = n / BLOCK;
    const Token * token[tokens];
    int32_t offsets[tokens][MOST_SHORT];
    for (int i = 0; i < tokens; ++i) {
        token[i] = (const Token *)info.src1_row(i);
        for (int part = 0; part < 8 * blocks; part += 4)
            keep_offsets<TableQ4>(token[i][part / 8].quants + SHORT * (part % 8), offsets[i] + part);
    }
    for (int row = 0; row < rows; row += ROWS) {
        Blocks<TableQ4> here(weights, stride, row, rows);
        Vectors<tokens> result;
        for (auto & r : result) r = no_floats();
        for (int block = 0; block < blocks; ++block, here.next()) {
            alignas(64) int8_t scales[8][ROWS];
            unpack_scales(here.block, scales);
            Ints sums[tokens];
            for (auto & sum : sums) sum = no_ints();
            for (int part = 0; part < 8; ++part) {
                here.ask_ahead(part);
                Ints unpacked[8];
                unpack(here.block, part, unpacked);
                auto scale = widened(scales[part]);
                for (int i = 0; i < tokens; ++i) {
                    auto sum = short_sum(unpacked, token[i][block].quants + SHORT * part, &offsets[i][8 * block + part]);
                    sums[i] = plus_scaled(sums[i], sum, scale);
                }
            }
            auto d = here.scales();
            for (int i = 0; i < tokens; ++i)
                result[i] = plus_product(result[i], d * all(token[i][block].d), to_floats(sums[i]));
        }
        for (int i = 0; i < tokens; ++i) store(info.dst_row(i) + row, result[i], lanes_of(rows - row));
    }
}

template <typename Block, size_t... i>
void replace_short(Products & products, Product & of_sixteen, std::index_sequence<i...>) {
    ((products[i] = short_product<Block, i + 1>), ...);
    of_sixteen = short_product<Block, 16>;
}

template <size_t... i>
void replace_table(Products & products, Product & of_sixteen, std::index_sequence<i...>) {
    ((products[i] = table_product<i + 1>), ...);
    of_sixteen = table_product<16>;
}

}  // namespace
