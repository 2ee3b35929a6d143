// The output head in two parts, of which a pass of few tokens reads the first only: the upper four bits of each six.
//
// A head of Q6_K is a fifth of what a 1.5B model's step reads, and of its 152 k logits the sampler looks at the largest.
// Here the upper bits of 1,024 rows lie together, with their scales, and the lower ones behind them. What the upper ones
// give is a rough logit and how far off it may be; `finish` then computes in full those that can be among the largest.
// docs/output-head.md says how far off, how sure, and what that gives.
#pragma once
#include <cstdlib>
#include <cstring>

#include "lanes.hpp"

namespace {

constexpr int MOST_TOKENS = IQK_MAX_NY;  // that a product takes at once
constexpr int MOST_ROUGH = 4;            // tokens of a pass that is rough; with more the processor is what is waited for
constexpr int CHUNK = 64;                // groups of 16 rows whose upper bits lie together
constexpr int OF_BLOCK = 16;             // scales
constexpr int LINE = 64;                 // bytes
constexpr float SURE = 6;                // standard deviations
constexpr int MOST_BLOCKS = 64, MOST_GROUPS = 1 << 15;
constexpr int MOST_HEADS = 4;            // of a target, a draft model, and whatever else is loaded
constexpr int MOST_COMPARED = 1 << 13;  // logits
constexpr float INFINITE = __builtin_inff();

// Of 16 rows and a block: bits 5 to 2 of each quant, two of them in a byte, and bits 1 and 0, four in a byte. Each 64
// bytes hold four columns of every row.
struct Upper {
    int8_t scales[OF_BLOCK][ROWS];
    uint8_t quants[OF_BLOCK][2][LINE];
};
struct Lower {
    uint8_t quants[OF_BLOCK][LINE];
};
struct Shared {
    uint16_t d[ROWS];
};
static_assert(sizeof(Upper) + sizeof(Lower) + sizeof(Shared) == GROUPS * sizeof(Q6));
static_assert(sizeof(Upper) % LINE == 0 && sizeof(Lower) % LINE == 0);

// The blocks of 16 rows.
struct Place {
    const Upper * upper;
    const Lower * lower;
    const Shared * shared;

    INLINE __m512 d(int block) const { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(shared + block))); }
};

INLINE __m512i line(const uint8_t * from) { return _mm512_load_si512((const __m512i *)from); }

// The same whole numbers, added in the same order, as of weights that were not rearranged.
INLINE void add_exact(const Place & place, int block, const Place & next, const auto & token, auto & result) {
    constexpr int tokens = std::tuple_size_v<std::remove_cvref_t<decltype(token)>>;
    const auto high = _mm512_set1_epi8(0x3c), low = _mm512_set1_epi8(0x03);
    auto & upper = place.upper[block];
    auto & lower = place.lower[block];
    alignas(64) int32_t offsets[tokens][OF_BLOCK];  // a weight is its quant less 32
    __m512i sums[tokens];
    for (int i = 0; i < tokens; ++i) {
        for (int s = 0; s < OF_BLOCK; ++s) offsets[i][s] = -32 * token[i]->sums[s];
        sums[i] = _mm512_setzero_si512();
    }
    for (int s = 0; s < OF_BLOCK; ++s) {
        if (s % 2) {
            ask_for((const char *)(next.upper + block), s / 2, sizeof(Upper));
            ask_for((const char *)(next.lower + block), s / 2, sizeof(Lower));
        }
        auto u1 = line(upper.quants[s][0]), u2 = line(upper.quants[s][1]), l = line(lower.quants[s]);
        auto q0 = either(_mm512_slli_epi16(u1, 2), high, _mm512_and_si512(l, low));
        auto q1 = either(_mm512_slli_epi16(u2, 2), high, _mm512_and_si512(_mm512_srli_epi16(l, 4), low));
        auto q2 = either(_mm512_srli_epi16(u1, 2), high, _mm512_and_si512(_mm512_srli_epi16(l, 2), low));
        auto q3 = either(_mm512_srli_epi16(u2, 2), high, _mm512_and_si512(_mm512_srli_epi16(l, 6), low));
        auto scale = widened(upper.scales[s]);
        for (int i = 0; i < tokens; ++i) {
            auto y = token[i]->quants + 16 * s;
            auto sum = dot(dot(dot(dot(broadcast(&offsets[i][s]), q0, y), q1, y + 4), q2, y + 8), q3, y + 12);
            sums[i] = times_scale(sums[i], sum, scale);
        }
    }
    auto d = place.d(block);
    for (int i = 0; i < tokens; ++i) {
        auto factor = _mm512_mul_ps(d, _mm512_set1_ps(token[i]->d));
        result[i] = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(sums[i]), result[i]);
    }
}

// As if the lower bits were their mean, 1.5. `offsets` are 61 times the sums of a token's 16 quants.
INLINE void add_rough(const Place & place, int block, const Place & next, const auto & token, const auto & offsets,
                      auto & result) {
    constexpr int tokens = std::tuple_size_v<std::remove_cvref_t<decltype(token)>>;
    const auto low = _mm512_set1_epi8(0x0f);
    auto & upper = place.upper[block];
    __m512i sums[tokens];
    for (int i = 0; i < tokens; ++i) sums[i] = _mm512_setzero_si512();
    for (int s = 0; s < OF_BLOCK; ++s) {
        if (s % 2) ask_for((const char *)(next.upper + block), s / 2, sizeof(Upper));
        auto u1 = line(upper.quants[s][0]), u2 = line(upper.quants[s][1]);
        auto q0 = _mm512_and_si512(u1, low), q2 = _mm512_and_si512(_mm512_srli_epi16(u1, 4), low);
        auto q1 = _mm512_and_si512(u2, low), q3 = _mm512_and_si512(_mm512_srli_epi16(u2, 4), low);
        auto scale = widened(upper.scales[s]);
        for (int i = 0; i < tokens; ++i) {
            auto y = token[i]->quants + 16 * s;
            auto sum = dot(dot(dot(dot(_mm512_setzero_si512(), q0, y), q1, y + 4), q2, y + 8), q3, y + 12);
            // Twice 4 q + 1.5 - 32.
            sum = _mm512_sub_epi32(_mm512_slli_epi32(sum, 3), broadcast(&offsets[i][OF_BLOCK * block + s]));
            sums[i] = times_scale(sums[i], sum, scale);
        }
    }
    auto d = place.d(block);
    for (int i = 0; i < tokens; ++i) {
        auto factor = _mm512_mul_ps(d, _mm512_set1_ps(token[i]->d / 2));
        result[i] = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(sums[i]), result[i]);
    }
}

// The bits of a float, in an order that whole numbers have too.
INLINE __m512i in_order(__m512 x) {
    auto bits = _mm512_castps_si512(x), sign = _mm512_srai_epi32(bits, 31);
    return _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srli_epi32(sign, 1), _mm512_set1_epi32(1 << 31)));
}

// The `count`-th largest of `size` floats, a multiple of 16: its bits are found one by one.
inline float largest(const float * of, int size, int count) {
    uint32_t found = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        auto bound = _mm512_set1_epi32(found | bit);
        int above = 0;
        for (int i = 0; i < size; i += 16)
            above += __builtin_popcount(_mm512_cmpge_epu32_mask(in_order(_mm512_loadu_ps(of + i)), bound));
        if (above >= count) found |= bit;
    }
    found ^= found >> 31 ? 1u << 31 : 0xffffffff;
    float result;
    memcpy(&result, &found, sizeof result);
    return result;
}

struct OutputHead {
    char * weights = nullptr;
    int blocks, groups, padded;  // of 256 weights; of 16 rows, and a multiple of 16
    bool may_be_rough;
    char * memory;
    // Beside the weights, in memory of its own. Of each 16 rows the scales' largest squares, and units: see `measure`.
    Shared * shared;    // [groups][blocks]
    uint8_t * squares;  // [groups][blocks][OF_BLOCK]
    float * units;      // [groups]
    // Of the last pass. Of each 16 logits the largest, and the standard deviation of what the lower bits add to them, 0
    // once that is done.
    struct Row {
        bool is_rough;
        Token token[MOST_BLOCKS];  // what it was made of
        float *largest, *deviations;  // [padded], there too
    } rows[MOST_ROUGH];

    static OutputHead * of(const void * weights);

    static size_t room(int n, int rows) {
        size_t groups = rows / ROWS, padded = (groups + 15) / 16 * 16;
        size_t blocks = n / BLOCK;
        return groups * (blocks * (sizeof(Shared) + OF_BLOCK) + sizeof(float)) + MOST_ROUGH * padded * 2 * sizeof(float);
    }

    bool split(char * from, int n, int size) {
        if (size % ROWS || size > MOST_GROUPS * ROWS || n % BLOCK || n > BLOCK * MOST_BLOCKS || (size_t)from % 32)
            return false;
        memory = (char *)malloc(room(n, size));
        auto scratch = (char *)malloc((size_t)CHUNK * GROUPS * (n / BLOCK) * sizeof(Q6));
        if (memory && scratch) rearrange(from, n, size, scratch);
        else free(memory);
        free(scratch);
        return weights;
    }

    void forget() {
        weights = nullptr;
        free(memory);
    }

    void rearrange(char * from, int n, int size, char * scratch) {
        weights = from, blocks = n / BLOCK, groups = size / ROWS, padded = (groups + 15) / 16 * 16, may_be_rough = true;
        auto floats = (float *)memory;
        units = floats, floats += groups;
        for (auto & row : rows) {
            row.is_rough = false;
            row.largest = floats, floats += padded;
            row.deviations = floats, floats += padded;
            for (int i = groups; i < padded; ++i) {
                row.largest[i] = -INFINITE;
                row.deviations[i] = 0;
            }
        }
        shared = (Shared *)floats;
        squares = (uint8_t *)(shared + groups * blocks);
        for (int first = 0; first < groups; first += CHUNK) {
            int count = in_chunk(first);
            memcpy(scratch, chunk(first), count * blocks * GROUPS * sizeof(Q6));
            for (int i = 0; i < count; ++i) {
                auto place = at(first + i);
                for (int block = 0; block < blocks; ++block) {
                    auto q = (const Q6 *)scratch + GROUPS * blocks * i + block;
                    for (int four = 0; four < GROUPS; ++four)
                        divide(q[four * blocks], four, (Upper &)place.upper[block], (Lower &)place.lower[block],
                               (Shared &)place.shared[block]);
                }
                measure(first + i);
            }
        }
    }

    static void divide(const Q6 & q, int four, Upper & upper, Lower & lower, Shared & shared) {
        memcpy(shared.d + 4 * four, q.d, sizeof q.d);
        for (int s = 0; s < OF_BLOCK; ++s) {
            memcpy(upper.scales[s] + 4 * four, q.scales + 4 * s, 4);
            for (int i = 0; i < 16; ++i) {
                int from = 16 * (s % 2) + i, to = 16 * four + i;
                int low1 = q.low[s / 2][0][from], low2 = q.low[s / 2][1][from], high = q.high[s / 2][from];
                int q0 = (low1 & 15) | (high & 3) << 4, q1 = (low2 & 15) | (high & 0x30);
                int q2 = low1 >> 4 | (high & 0x0c) << 2, q3 = low2 >> 4 | (high & 0xc0) >> 2;
                upper.quants[s][0][to] = q0 >> 2 | q2 >> 2 << 4;
                upper.quants[s][1][to] = q1 >> 2 | q3 >> 2 << 4;
                lower.quants[s][to] = (q0 & 3) | (q2 & 3) << 2 | (q1 & 3) << 4 | (q3 & 3) << 6;
            }
        }
    }

    // Of 16 weights that share a scale, the lower bits add what has a variance of 1.25 squares of the scale, times the
    // sum of the squares of the token's numbers. Here these squares, the largest of 16 rows, in 255ths of a unit.
    void measure(int group) {
        float most = 0, largest[MOST_BLOCKS * OF_BLOCK];
        auto place = at(group);
        for (int block = 0; block < blocks; ++block)
            for (int s = 0; s < OF_BLOCK; ++s) {
                auto scale = _mm512_mul_ps(place.d(block), _mm512_cvtepi32_ps(widened(place.upper[block].scales[s])));
                auto square = largest[OF_BLOCK * block + s] = _mm512_reduce_max_ps(_mm512_mul_ps(scale, scale));
                if (square > most) most = square;
            }
        units[group] = 1.25f * most / 255;
        auto to = squares + group * blocks * OF_BLOCK;
        for (int s = 0; s < blocks * OF_BLOCK; ++s) to[s] = most > 0 ? int(largest[s] * 254 / most) + 1 : 0;
    }

    INLINE int in_chunk(int first) const { return groups - first < CHUNK ? groups - first : CHUNK; }
    INLINE char * chunk(int first) const { return weights + (size_t)first * blocks * GROUPS * sizeof(Q6); }
    INLINE Place at(int group) const {
        int first = group / CHUNK * CHUNK, within = group - first;
        auto upper = (const Upper *)(((size_t)chunk(first) + LINE - 1) / LINE * LINE);
        auto lower = (const Lower *)(upper + in_chunk(first) * blocks);
        return {upper + within * blocks, lower + within * blocks, shared + group * blocks};
    }
    INLINE Place after(int group) const { return at(group + 1 < groups ? group + 1 : group); }

    // From a row on that `from` would be of weights that were not rearranged.
    template <int count> void multiply(const void * from, const DataInfo & info, int size) {
        int begin = ((const char *)from - weights) / (blocks * sizeof(Q6)) * 4, end = begin + size;
        std::array<const Token *, count> token;
        for (int i = 0; i < count; ++i) token[i] = (const Token *)info.src1_row(i);
        bool rough = may_be_rough && info.cur_y == 0 && count <= MOST_ROUGH;
        if (begin == 0)
            for (int i = 0; i < count && info.cur_y + i < MOST_ROUGH; ++i) {
                rows[info.cur_y + i].is_rough = rough;
                if (rough) memcpy(rows[i].token, token[i], blocks * sizeof(Token));
            }
        if constexpr (count <= MOST_ROUGH)
            if (rough) return multiply_roughly(begin, end, token, info);
        for (int group = begin / ROWS; ROWS * group < end; ++group)
            store(exact(at(group), after(group), token), group, begin, end, info);
    }

    // Threads may begin within a group.
    INLINE static void store(const auto & result, int group, int begin, int end, const DataInfo & info) {
        int row = ROWS * group, lanes = 0xffff;
        if (row < begin) lanes &= 0xffff << (begin - row);
        if (row + ROWS > end) lanes &= 0xffff >> (row + ROWS - end);
        for (size_t i = 0; i < result.size(); ++i)
            _mm512_mask_storeu_ps(info.dst_row(i) + row - begin, lanes, result[i]);
    }

    template <size_t count>
    INLINE Vectors<count> exact(const Place & place, const Place & next,
                                           const std::array<const Token *, count> & first) const {
        Vectors<count> result;
        for (auto & r : result) r = _mm512_setzero_ps();
        for (int block = 0; block < blocks; ++block) {
            std::array<const Token *, count> token;
            for (size_t i = 0; i < count; ++i) token[i] = first[i] + block;
            add_exact(place, block, next, token, result);
        }
        return result;
    }

    template <size_t count>
    void multiply_roughly(int begin, int end, const std::array<const Token *, count> & first, const DataInfo & info) {
        int offsets[count][MOST_BLOCKS * OF_BLOCK];
        float numbers[count][MOST_BLOCKS * OF_BLOCK];
        for (size_t i = 0; i < count; ++i)
            for (int block = 0; block < blocks; ++block)
                for (int s = 0; s < OF_BLOCK; ++s) {
                    auto & token = first[i][block];
                    offsets[i][OF_BLOCK * block + s] = 61 * token.sums[s];
                    numbers[i][OF_BLOCK * block + s] = token.d * token.d * sum_of_squares(token.quants + 16 * s);
                }
        for (int group = begin / ROWS; ROWS * group < end; ++group) {
            auto place = at(group), next = after(group);
            Vectors<count> result;
            for (auto & r : result) r = _mm512_setzero_ps();
            for (int block = 0; block < blocks; ++block) {
                std::array<const Token *, count> token;
                for (size_t i = 0; i < count; ++i) token[i] = first[i] + block;
                add_rough(place, block, next, token, offsets, result);
            }
            store(result, group, begin, end, info);
            if (ROWS * group >= begin)
                for (size_t i = 0; i < count; ++i) {
                    rows[i].largest[group] = _mm512_reduce_max_ps(result[i]);
                    rows[i].deviations[group] = deviation(group, numbers[i]);
                }
        }
    }

    INLINE static int sum_of_squares(const int8_t * quants) {
        auto x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)quants));
        return _mm512_reduce_add_epi32(_mm512_zextsi256_si512(_mm256_madd_epi16(x, x)));
    }

    INLINE float deviation(int group, const float * numbers) const {
        auto from = squares + group * blocks * OF_BLOCK;
        auto sum = _mm512_setzero_ps();
        for (int s = 0; s < blocks * OF_BLOCK; s += 16) {
            auto square = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(from + s))));
            sum = _mm512_fmadd_ps(square, _mm512_loadu_ps(numbers + s), sum);
        }
        return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(units[group] * _mm512_reduce_add_ps(sum))));
    }

    // Make exact what is no less than the `count`-th largest logit. If so many logits are no less than a bound, that one
    // is not either. The largest of groups give such a bound, and the logits that are exact then a better one. Returns
    // of how many rows logits were computed.
    int finish(int number, float * logits, int count) {
        if (number >= MOST_ROUGH || !rows[number].is_rough) return 0;
        auto & row = rows[number];
        if (count > 0 && count < groups / 8 && count <= MOST_COMPARED / ROWS) {
            int done = compute(row, logits, largest(row.largest, padded, count), 0);
            return done + compute(row, logits, largest_exact(row, logits, count), SURE);
        }
        row.is_rough = false;
        return compute(row, logits, -INFINITE, 0);
    }

    float largest_exact(const Row & row, const float * logits, int count) const {
        static float exact[MOST_COMPARED];
        int size = 0;
        for (int group = 0; group < groups && size < MOST_COMPARED; ++group)
            if (row.deviations[group] == 0) {
                memcpy(exact + size, logits + ROWS * group, ROWS * sizeof(float));
                size += ROWS;
            }
        return largest(exact, size, count);
    }

    // Of groups in which there may be a logit of `bound` or more, but for those that are exact.
    int compute(Row & row, float * logits, float bound, float sure) {
        const std::array<const Token *, 1> token = {row.token};
        int done = 0, last = -1;
        auto compute = [&](int group, int next) {
            auto result = exact(at(group), at(next), token)[0];
            _mm512_storeu_ps(logits + ROWS * group, result);
            row.largest[group] = _mm512_reduce_max_ps(result);
            row.deviations[group] = 0;
            done += ROWS;
        };
        for (int i = 0; i < padded; i += 16) {
            auto deviations = _mm512_loadu_ps(row.deviations + i);
            auto most = _mm512_fmadd_ps(deviations, _mm512_set1_ps(sure), _mm512_loadu_ps(row.largest + i));
            int found = _mm512_cmp_ps_mask(most, _mm512_set1_ps(bound), _CMP_NLT_UQ) &
                        _mm512_cmp_ps_mask(deviations, _mm512_setzero_ps(), _CMP_NEQ_UQ);
            for (; found; found &= found - 1) {
                int group = i + __builtin_ctz(found);
                if (last >= 0) compute(last, group);
                last = group;
            }
        }
        if (last >= 0) compute(last, last);
        return done;
    }
};

OutputHead output_heads[MOST_HEADS];

inline OutputHead * OutputHead::of(const void * weights) {
    for (auto & head : output_heads)
        if (head.weights && weights >= head.weights &&
            weights < head.weights + (size_t)head.groups * head.blocks * GROUPS * sizeof(Q6))
            return &head;
    return nullptr;
}

}  // namespace
