// Matrix products with weights of the types Q1_0, Q2_0, TQ1_0 and TQ2_0, which take one to two bits each. Compiled for
// each set of instructions (packaging/llama_native.py).
//
// A byte holds several weights, which shifts and masks split into planes: registers with one weight in each byte. The
// weights stay in the file's order; instead the tokens' numbers are put into the order of the planes, once for all rows.
// A lane, of four bytes, then only has numbers that share a scale, so whole numbers are added over all planes of a span
// before anything becomes a float. Weights are unsigned here, one more than they mean; sums begin with the negative sum
// of the numbers, which takes that off again, exactly. docs/products.md gives the speed-up.
#include "low_bits.hpp"

#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"
#include "ggml.h"
#include "registers.hpp"

namespace {

constexpr int LANES = 8;           // of 32 bytes
constexpr int ROOM = 256 * 1024;   // bytes of the tokens' numbers that are prepared at once, on the stack
constexpr int NEAR = 24 * 1024;    // bytes of them that stay in the first-level cache while rows pass by
constexpr int CHUNK = 32;          // rows that pass by

// A token's numbers of a span, a float for each lane, and what its sums begin with.
template <typename Kind> struct Span {
    alignas(32) int8_t numbers[Kind::PLANES][32];
    float scale[LANES];
    int32_t begin[LANES];
};

// The kinds of weights. A span is the columns that are unpacked at once: `TOGETHER` blocks, 32 or 64 bytes of weights.
struct OneBit {
    using Block = block_q1_0;
    using Token = block_q8_0;
    static constexpr int TOGETHER = 2, PLANES = 8, COLUMNS = 2 * QK1_0;
    static constexpr int EACH = 1;  // lanes that share a token's scale

    // Weights are 0 and 2 here. Bit `plane` of byte i is column 8 i + plane.
    static INLINE void unpack(const Block * const * of, Ints * planes) {
        const auto two = bytes(2);
        auto all = of_rows([&](int r) INLINED { return beside(load_16(of[r][0].qs), load_16(of[r][1].qs)); });
        planes[0] = up<1>(all) & two, planes[1] = all & two;
        planes[2] = down<1>(all) & two, planes[3] = down<2>(all) & two;
        planes[4] = down<3>(all) & two, planes[5] = down<4>(all) & two;
        planes[6] = down<5>(all) & two, planes[7] = down<6>(all) & two;
    }
    static INLINE __m256 scale(const Block * of) { return four_of_each(of[0].d, of[1].d); }
    static void arrange(const int8_t * columns, int8_t (*to)[32]) {
        for (int i = 0; i < 32; ++i)
            for (int plane = 0; plane < 8; ++plane) to[plane][i] = columns[8 * i + plane];
    }
};

struct TwoBits {
    using Block = block_q2_0;
    using Token = block_q8_0;
    static constexpr int TOGETHER = 2, PLANES = 4, COLUMNS = 2 * QK2_0, EACH = 2;

    // Two bits of byte i are column 4 i + plane.
    static INLINE void unpack(const Block * const * of, Ints * planes) {
        const auto three = bytes(3);
        auto all = of_rows([&](int r) INLINED { return beside(load_16(of[r][0].qs), load_16(of[r][1].qs)); });
        planes[0] = all & three, planes[1] = down<2>(all) & three;
        planes[2] = down<4>(all) & three, planes[3] = down<6>(all) & three;
    }
    static INLINE __m256 scale(const Block * of) { return four_of_each(of[0].d, of[1].d); }
    static void arrange(const int8_t * columns, int8_t (*to)[32]) {
        for (int i = 0; i < 32; ++i)
            for (int plane = 0; plane < 4; ++plane) to[plane][i] = columns[4 * i + plane];
    }
};

struct TernaryTwoBits {
    using Block = block_tq2_0;
    using Token = block_q8_K;
    static constexpr int TOGETHER = 1, PLANES = 8, COLUMNS = QK_K, EACH = LANES;

    // Two bits of byte i are column 32 plane + i; the second 32 bytes follow the first.
    static INLINE void unpack(const Block * const * of, Ints * planes) {
        const auto three = bytes(3);
        for (int half = 0; half < 2; ++half, planes += 4) {
            auto all = of_rows([&](int r) INLINED { return load_32(of[r]->qs + 32 * half); });
            planes[0] = all & three, planes[1] = down<2>(all) & three;
            planes[2] = down<4>(all) & three, planes[3] = down<6>(all) & three;
        }
    }
    static INLINE __m256 scale(const Block * of) { return eight_of(of->d); }
    static void arrange(const int8_t * columns, int8_t (*to)[32]) { memcpy(to, columns, COLUMNS); }
};

struct TernaryFiveInAByte {
    using Block = block_tq1_0;
    using Token = block_q8_K;
    static constexpr int TOGETHER = 1, PLANES = 10, COLUMNS = QK_K, EACH = LANES;

    // A byte is five digits of base three, as a fraction of 256: three times it, the first digit is what exceeds a byte.
    static INLINE void split(Ints all, Ints * planes) {
        const auto three = bytes(3);
        for (int plane = 0; plane < 5; ++plane) {
            auto rest = less_one(all);
            planes[plane] = down<6>(average(rest, average(rest, bytes(0)))) & three;
            all = sum_of_bytes(all, sum_of_bytes(all, all));
        }
    }
    // 32 bytes hold 160 columns, the next 16 bytes 80, and the last four bytes 16: these have four digits only.
    static INLINE void unpack(const Block * const * of, Ints * planes) {
        split(of_rows([&](int r) INLINED { return load_32(of[r]->qs); }), planes);
        split(of_rows([&](int r) INLINED {
                  int32_t last;
                  memcpy(&last, of[r]->qh, sizeof(last));
                  return beside(load_16(of[r]->qs + 32), _mm_cvtsi32_si128(last));
              }),
              planes + 5);
    }
    static INLINE __m256 scale(const Block * of) { return eight_of(of->d); }
    static void arrange(const int8_t * columns, int8_t (*to)[32]) {
        memcpy(to, columns, 160);
        memset(to[5], 0, 5 * 32);
        for (int plane = 0; plane < 5; ++plane) memcpy(to[5 + plane], columns + 160 + 16 * plane, 16);
        for (int plane = 0; plane < 4; ++plane) memcpy(to[5 + plane] + 16, columns + 240 + 4 * plane, 4);
    }
};

// Copy the numbers of a span, which begins at column `from` of `all`, and their scales; zeros follow the last column.
INLINE void copy_columns(const block_q8_0 * token, int from, int all, int size, int each, int8_t * to, float * scale) {
    for (int column = 0, lane = 0; column < size; column += QK8_0) {
        auto of = from + column < all ? token + (from + column) / QK8_0 : nullptr;
        if (of) memcpy(to + column, of->qs, QK8_0);
        else memset(to + column, 0, QK8_0);
        for (int i = 0; i < each; ++i) scale[lane++] = of ? half_to_float(of->d) : 0;
    }
}
INLINE void copy_columns(const block_q8_K * token, int from, int, int size, int each, int8_t * to, float * scale) {
    memcpy(to, token[from / QK_K].qs, size);
    for (int lane = 0; lane < each; ++lane) scale[lane] = token[from / QK_K].d;
}

// Prepare a token with `columns` numbers.
template <typename Kind> void prepare(const void * token, int columns, Span<Kind> * to) {
    Ints ones[Kind::PLANES];
    for (auto & one : ones) one = bytes(1);
    for (int from = 0; from < columns; from += Kind::COLUMNS, ++to) {
        int8_t numbers[Kind::COLUMNS];
        copy_columns((const typename Kind::Token *)token, from, columns, Kind::COLUMNS, Kind::EACH, numbers, to->scale);
        Kind::arrange(numbers, to->numbers);
        const int32_t none[LANES] = {};
        auto sums = first_row(products_of<Kind::PLANES>(ones, to->numbers, none));
        _mm256_storeu_si256((__m256i *)to->begin, _mm256_sub_epi32(_mm256_setzero_si256(), sums));
    }
}

template <typename Kind, int tokens>
INLINE void add_span(const typename Kind::Block * const * of, const Span<Kind> * const * token, Floats * result) {
    Ints planes[Kind::PLANES];
    Kind::unpack(of, planes);
    auto scale = floats_of_rows([&](int r) INLINED { return Kind::scale(of[r]); });
    for (int i = 0; i < tokens; ++i) {
        auto sum = to_floats(products_of<Kind::PLANES>(planes, token[i]->numbers, token[i]->begin));
        result[i] = plus_product(result[i], sum * floats_for_all(token[i]->scale), scale);
    }
}

// Add the spans from `from` to `to` of a register's rows; a last span of fewer blocks is filled with zeros.
template <typename Kind, int tokens>
INLINE void add_spans(const typename Kind::Block * const * rows, int blocks, int from, int to,
                      const Span<Kind> * const * numbers, Floats * result) {
    const typename Kind::Block * of[ROWS];
    const Span<Kind> * token[tokens];
    for (int r = 0; r < ROWS; ++r) of[r] = rows[r] + from * Kind::TOGETHER;
    for (int i = 0; i < tokens; ++i) token[i] = numbers[i] + from;
    const int whole = blocks / Kind::TOGETHER;
    for (int span = from; span < (to < whole ? to : whole); ++span) {
        add_span<Kind, tokens>(of, token, result);
        for (auto & next : of) next += Kind::TOGETHER;
        for (auto & next : token) ++next;
    }
    if (to <= whole) return;
    typename Kind::Block last[ROWS][Kind::TOGETHER] = {};
    for (int r = 0; r < ROWS; ++r) {
        memcpy(last[r], of[r], blocks % Kind::TOGETHER * sizeof(last[r][0]));
        of[r] = last[r];
    }
    add_span<Kind, tokens>(of, token, result);
}

// Compute the product of up to CHUNK rows, from `first` on, and `tokens` tokens.
template <typename Kind, int tokens>
void multiply_tile(const Product & of, int64_t first, int rows, const Span<Kind> * prepared, int spans, int64_t token) {
    const int fit = NEAR / (tokens * sizeof(Span<Kind>)), step = tokens == 1 || fit > spans ? spans : fit;
    const Span<Kind> * numbers[tokens];
    for (int i = 0; i < tokens; ++i) numbers[i] = prepared + i * spans;
    Floats results[CHUNK / ROWS][tokens];
    for (auto & row : results)
        for (auto & result : row) result = no_floats();
    auto at = [&](int row) INLINED {
        return (const typename Kind::Block *)(of.weights + (first + (row < rows ? row : rows - 1)) * of.weight_stride);
    };
    for (int from = 0; from < spans; from += step)
        for (int row = 0; row < rows; row += ROWS) {
            const typename Kind::Block * here[ROWS];
            for (int r = 0; r < ROWS; ++r) here[r] = at(row + r);
            Floats result[tokens];
            for (int i = 0; i < tokens; ++i) result[i] = results[row / ROWS][i];
            add_spans<Kind, tokens>(here, of.blocks, from, from + step < spans ? from + step : spans, numbers, result);
            for (int i = 0; i < tokens; ++i) results[row / ROWS][i] = result[i];
        }
    for (int i = 0; i < tokens; ++i)
        for (int row = 0; row < rows; ++row)
            of.result[(token + i) * of.result_stride + first + row] = sum_of_row(results[row / ROWS][i], row % ROWS);
}

// Compute the product of up to CHUNK rows and `count` tokens, TILE at a time.
template <typename Kind, int tokens = TILE>
void multiply_chunk(const Product & of, int64_t first, int rows, const Span<Kind> * prepared, int spans, int64_t token,
                    int64_t count) {
    for (; count >= tokens; count -= tokens, token += tokens, prepared += tokens * spans)
        multiply_tile<Kind, tokens>(of, first, rows, prepared, spans, token);
    if constexpr (tokens > 1)
        if (count) multiply_chunk<Kind, tokens - 1>(of, first, rows, prepared, spans, token, count);
}

template <typename Kind> bool multiply(const Product & of) {
    const int spans = (of.blocks + Kind::TOGETHER - 1) / Kind::TOGETHER;
    const int fit = ROOM / (spans * sizeof(Span<Kind>));
    if (!fit) return false;
    alignas(64) char room[ROOM];
    const auto prepared = (Span<Kind> *)room;
    const int64_t share = (of.rows + of.threads - 1) / of.threads;
    const int64_t begin = of.thread * share, end = begin + share < of.rows ? begin + share : of.rows;
    if (begin >= end) return true;
    for (int64_t token = 0; token < of.count; token += fit) {
        const int64_t count = token + fit < of.count ? fit : of.count - token;
        for (int64_t i = 0; i < count; ++i)
            prepare<Kind>(of.tokens + (token + i) * of.token_stride, of.blocks * (Kind::COLUMNS / Kind::TOGETHER),
                          prepared + i * spans);
        for (int64_t row = begin; row < end; row += CHUNK)
            multiply_chunk<Kind>(of, row, row + CHUNK < end ? CHUNK : end - row, prepared, spans, token, count);
    }
    return true;
}

template <typename Kind> bool multiply_typed(Product of) {
    of.weight_stride *= sizeof(typename Kind::Block), of.token_stride *= sizeof(typename Kind::Token);
    return multiply<Kind>(of);
}

}  // namespace

#if defined(__AVX512VNNI__)
bool multiply_avx512
#elif defined(__AVXVNNI__)
bool multiply_avx_vnni
#else
bool multiply_avx2
#endif
    (int weight_type, int token_type, const Product & of) {
    if (token_type == GGML_TYPE_Q8_0) {
        if (weight_type == GGML_TYPE_Q1_0) return multiply_typed<OneBit>(of);
        if (weight_type == GGML_TYPE_Q2_0) return multiply_typed<TwoBits>(of);
    }
    if (token_type == GGML_TYPE_Q8_K) {
        if (weight_type == GGML_TYPE_TQ1_0) return multiply_typed<TernaryFiveInAByte>(of);
        if (weight_type == GGML_TYPE_TQ2_0) return multiply_typed<TernaryTwoBits>(of);
    }
    return false;
}
