// An output head in two parts. A pass of few tokens reads the first part only: the upper four of each weight's six
// bits.
//
// A head of Q6_K is a fifth of what a 1.5B model's step reads, but of its 152 k logits the sampler reads only the
// largest. Here the upper bits of 1,024 rows lie together with their scales, and the lower bits lie behind them. The
// upper bits give a rough logit and a bound of its error; `finish` then computes in full those logits that can be among
// the largest. docs/output-head.md gives the errors, their probability and the speed-up.
#pragma once
#include <cstdlib>
#include <cstring>

#include "lanes.hpp"

namespace {

constexpr int MOST_ROUGH = 4;            // tokens of a rough pass; with more, memory is not the bottleneck
constexpr int CHUNK = 1024 / ROWS;        // groups of rows whose upper bits lie together
constexpr int LINE = 4 * ROWS;           // bytes
constexpr float SURE = 6;                // standard deviations that an error is assumed not to exceed
constexpr int MOST_BLOCKS = 64, MOST_ROWS = 1 << 19;
constexpr int MOST_HEADS = 4;            // heads of a target, a draft model, and other loaded models
constexpr int MOST_COMPARED = 1 << 13;  // exact logits among which the `count`-th largest is searched
constexpr float INFINITE = __builtin_inff();

// One block of a group of rows; a group has as many rows as a register holds. `Upper` has bits 5 to 2 of each quant,
// two quants in a byte; `Lower` has bits 1 and 0, four quants in a byte. Each register holds four columns of every row.
struct Upper {
    int8_t scales[SCALES][ROWS];
    uint8_t quants[SCALES][2][LINE];
};
struct Lower {
    uint8_t quants[SCALES][LINE];
};
struct Shared {
    uint16_t d[ROWS];
};
static_assert(sizeof(Upper) + sizeof(Lower) + sizeof(Shared) == GROUPS * sizeof(Q6));
static_assert(sizeof(Upper) % LINE == 0 && sizeof(Lower) % LINE == 0);

// Pointers to the blocks of a group.
struct Place {
    const Upper * upper;
    const Lower * lower;
    const Shared * shared;

    INLINE Floats d(int block) const { return load_half(shared[block].d); }
};

INLINE Ints line(const uint8_t * from) { return *(const Ints *)from; }

// The terms by which a token's sums are corrected because quants are stored without a sign, one for each 16 numbers.
template <int count> struct Offsets {
    int32_t of[count][MOST_BLOCKS * SCALES];
};

// Add a block's product. The whole numbers and their order are the same as for weights that were not rearranged.
template <int count>
INLINE void add_exact(const Place & place, int block, const Place & next, const Tokens<count> & token,
                      const Offsets<count> & offsets, Vectors<count> & result) {
    const auto high = bytes(0x3c), low = bytes(0x03);
    auto & upper = place.upper[block];
    auto & lower = place.lower[block];
    Ints sums[count];
    for (auto & sum : sums) sum = no_ints();
    for (int s = 0; s < SCALES; ++s) {
        if (s % 2) {
            ask_for((const char *)(next.upper + block), s / 2, sizeof(Upper));
            ask_for((const char *)(next.lower + block), s / 2, sizeof(Lower));
        }
        auto u1 = line(upper.quants[s][0]), u2 = line(upper.quants[s][1]), l = line(lower.quants[s]);
        const Ints weights[4] = {
            either(up<2>(u1), high, l & low),
            either(up<2>(u2), high, down<4>(l) & low),
            either(down<2>(u1), high, down<2>(l) & low),
            either(down<2>(u2), high, down<6>(l) & low),
        };
        auto scale = scale_of(upper.scales[s]);
        for (int i = 0; i < count; ++i)
            sums[i] = add_16(sums[i], weights, token[i]->quants + 16 * s, offsets.of[i] + SCALES * block + s, scale);
    }
    auto d = place.d(block);
    for (int i = 0; i < count; ++i) result[i] = plus_product(result[i], d * all(token[i]->d), to_floats(sums[i]));
}

// Add a block's rough product, as if the lower bits of each weight were their mean, 1.5.
template <int count>
INLINE void add_rough(const Place & place, int block, const Place & next, const Tokens<count> & token,
                      const Offsets<count> & offsets, Vectors<count> & result) {
    const auto low = bytes(0x0f);
    auto & upper = place.upper[block];
    RoughSum sums[count];
    for (int s = 0; s < SCALES; ++s) {
        if (s % 2) ask_for((const char *)(next.upper + block), s / 2, sizeof(Upper));
        auto u1 = line(upper.quants[s][0]), u2 = line(upper.quants[s][1]);
        const Ints weights[4] = {u1 & low, u2 & low, down<4>(u1) & low, down<4>(u2) & low};
        auto scale = scale_of(upper.scales[s]);
        for (int i = 0; i < count; ++i)
            sums[i].add(weights, token[i]->quants + 16 * s, offsets.of[i] + SCALES * block + s, scale);
    }
    auto d = place.d(block);
    for (int i = 0; i < count; ++i)
        result[i] = plus_product(result[i], d * all(token[i]->d / 2), to_floats(sums[i].total()));
}

// Return the float at this place in the order of all floats.
INLINE float in_order(uint32_t place) {
    place ^= place >> 31 ? 1u << 31 : 0xffffffff;
    float result;
    memcpy(&result, &place, sizeof result);
    return result;
}

// Return the `count`-th largest of `size` floats, by finding the bits of its place in the order one by one.
inline float largest(const float * of, int size, int count) {
    uint32_t found = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        const float bound = in_order(found | bit);
        int above = 0;
        for (int i = 0; i < size; ++i) above += of[i] >= bound;
        if (above >= count) found |= bit;
    }
    return in_order(found);
}

struct OutputHead {
    char * weights = nullptr;
    int blocks, groups, padded;  // blocks of 256 weights; groups of a register's rows, and these rounded up to ROWS
    bool may_be_rough;
    char * memory;
    // In `memory`, beside the weights. `squares` and `units` hold the largest squares of each group's scales
    // (`measure`).
    Shared * shared;    // [groups][blocks]
    uint8_t * squares;  // [groups][blocks][SCALES]
    float * units;      // [groups]
    // The rows of the last pass. For each group of logits `largest` holds the largest one, and `deviations` the
    // standard deviation of what the lower bits would add; 0 once the logits are exact.
    struct Row {
        bool is_rough;
        Token token[MOST_BLOCKS];  // the token that the row was computed from
        float *largest, *deviations;  // [padded], in `memory` too
    } rows[MOST_ROUGH];

    static OutputHead * of(const void * weights);

    static int up_to_rows(int groups) { return (groups + ROWS - 1) / ROWS * ROWS; }

    static size_t room(int n, int rows) {
        size_t groups = rows / ROWS, padded = up_to_rows(groups), blocks = n / BLOCK;
        return groups * (blocks * (sizeof(Shared) + SCALES) + sizeof(float)) + MOST_ROUGH * padded * 2 * sizeof(float);
    }

    bool split(char * from, int n, int size) {
        if (size % ROWS || size > MOST_ROWS || n % BLOCK || n > BLOCK * MOST_BLOCKS || (size_t)from % 32)
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
        weights = from, blocks = n / BLOCK, groups = size / ROWS, padded = up_to_rows(groups), may_be_rough = true;
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
        for (int s = 0; s < SCALES; ++s) {
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

    // Store the largest squares of a group's scales, in 255ths of a unit. The lower bits of 16 weights that share a
    // scale add a term with a variance of 1.25 squares of the scale, times the sum of the squares of the token's
    // numbers.
    void measure(int group) {
        float most = 0, largest[MOST_BLOCKS * SCALES];
        auto place = at(group);
        for (int block = 0; block < blocks; ++block)
            for (int s = 0; s < SCALES; ++s) {
                auto scale = place.d(block) * to_floats(widened(place.upper[block].scales[s]));
                auto square = largest[SCALES * block + s] = largest_of(scale * scale);
                if (square > most) most = square;
            }
        units[group] = 1.25f * most / 255;
        auto to = squares + group * blocks * SCALES;
        for (int s = 0; s < blocks * SCALES; ++s) to[s] = most > 0 ? int(largest[s] * 254 / most) + 1 : 0;
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

    // Multiply `size` rows, beginning with the row that would lie at `from` if the weights had not been rearranged.
    template <int count> void multiply(const void * from, const DataInfo & info, int size) {
        int begin = ((const char *)from - weights) / (blocks * sizeof(Q6)) * 4, end = begin + size;
        Tokens<count> token;
        for (int i = 0; i < count; ++i) token[i] = (const Token *)info.src1_row(i);
        bool rough = may_be_rough && info.cur_y == 0 && count <= MOST_ROUGH;
        if (begin == 0)
            for (int i = 0; i < count && info.cur_y + i < MOST_ROUGH; ++i) {
                rows[info.cur_y + i].is_rough = rough;
                if (rough) memcpy(rows[i].token, token[i], blocks * sizeof(Token));
            }
        if constexpr (count <= MOST_ROUGH)
            if (rough) return multiply_roughly(begin, end, token, info);
        const auto offsets = exact_offsets(token);
        for (int group = begin / ROWS; ROWS * group < end; ++group)
            store_group(exact(at(group), after(group), token, offsets), group, begin, end, info);
    }

    template <int count> INLINE Offsets<count> exact_offsets(const Tokens<count> & token) const {
        Offsets<count> offsets;
        for (int i = 0; i < count; ++i)
            for (int block = 0; block < blocks; ++block) offsets_of(token[i][block], offsets.of[i] + SCALES * block);
        return offsets;
    }

    // Store a group's logits, except those of rows that belong to other threads: a thread may begin within a group.
    INLINE static void store_group(const auto & result, int group, int begin, int end, const DataInfo & info) {
        int row = ROWS * group;
        unsigned lanes = ALL_LANES;
        if (row < begin) lanes &= ALL_LANES << (begin - row);
        if (row + ROWS > end) lanes &= ALL_LANES >> (row + ROWS - end);
        for (int i = 0; i < result.size(); ++i) store(info.dst_row(i) + row - begin, result[i], lanes);
    }

    template <int count>
    INLINE Vectors<count> exact(const Place & place, const Place & next, const Tokens<count> & first,
                                const Offsets<count> & offsets) const {
        Vectors<count> result;
        for (auto & r : result) r = no_floats();
        for (int block = 0; block < blocks; ++block) {
            Tokens<count> token;
            for (int i = 0; i < count; ++i) token[i] = first[i] + block;
            add_exact(place, block, next, token, offsets, result);
        }
        return result;
    }

    template <int count>
    void multiply_roughly(int begin, int end, const Tokens<count> & first, const DataInfo & info) {
        Offsets<count> offsets;
        float numbers[count][MOST_BLOCKS * SCALES];
        for (int i = 0; i < count; ++i)
            for (int block = 0; block < blocks; ++block)
                for (int s = 0; s < SCALES; ++s) {
                    auto & token = first[i][block];
                    offsets.of[i][SCALES * block + s] = RoughSum::offset(token.sums[s]);
                    numbers[i][SCALES * block + s] = token.d * token.d * sum_of_squares(token.quants + 16 * s);
                }
        for (int group = begin / ROWS; ROWS * group < end; ++group) {
            auto place = at(group), next = after(group);
            Vectors<count> result;
            for (auto & r : result) r = no_floats();
            for (int block = 0; block < blocks; ++block) {
                Tokens<count> token;
                for (int i = 0; i < count; ++i) token[i] = first[i] + block;
                add_rough(place, block, next, token, offsets, result);
            }
            store_group(result, group, begin, end, info);
            if (ROWS * group >= begin)
                for (int i = 0; i < count; ++i) {
                    rows[i].largest[group] = largest_of(result[i]);
                    rows[i].deviations[group] = deviation(group, numbers[i]);
                }
        }
    }

    INLINE static int sum_of_squares(const int8_t * quants) {
        int sum = 0;
        for (int i = 0; i < 16; ++i) sum += quants[i] * quants[i];
        return sum;
    }

    INLINE float deviation(int group, const float * numbers) const {
        auto from = squares + group * blocks * SCALES;
        auto sum = no_floats();
        for (int s = 0; s < blocks * SCALES; s += ROWS) sum = plus_product(sum, load_bytes(from + s), load(numbers + s));
        return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(units[group] * sum_of(sum))));
    }

    // Make exact all logits that are no less than the `count`-th largest. If `count` logits reach a bound, then the
    // `count`-th largest reaches the bound too. The groups' largest rough logits give a first bound; the logits that
    // are exact after that give a better one. Return the number of rows whose logits were computed.
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

    // Compute the logits of groups that may contain a logit of `bound` or more, except groups that are exact already.
    // `sure`: standard deviations by which a logit may be larger than its rough value.
    int compute(Row & row, float * logits, float bound, float sure) {
        const Tokens<1> token = {{row.token}};
        const auto offsets = exact_offsets(token);
        int done = 0, last = -1;
        auto compute = [&](int group, int next) {
            auto result = exact(at(group), at(next), token, offsets)[0];
            store(logits + ROWS * group, result, ALL_LANES);
            row.largest[group] = largest_of(result);
            row.deviations[group] = 0;
            done += ROWS;
        };
        for (int i = 0; i < padded; i += ROWS) {
            auto deviations = load(row.deviations + i);
            auto most = plus_product(load(row.largest + i), deviations, all(sure));
            auto found = not_less(most, all(bound)) & not_equal(deviations, no_floats());
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
