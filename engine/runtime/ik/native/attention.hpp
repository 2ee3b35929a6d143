// Attention with float16 keys and values. Included by products.cpp.
//
// ik_llama.cpp computes it with 256-bit registers and writes most sums back to memory after every four numbers of a key.
// Here both products, of queries with keys and of probabilities with values, keep a tile of sums in registers from
// beginning to end: `ROWS` lanes of four registers by `TILE_ROWS` rows. Keys are transposed once for all rows. The
// softmax is computed as the keys come (Milakov and Gimelshein, 2018; Dao et al., FlashAttention, 2022).
//
// A row is one head's query of one token. Its result is the same bits whatever other rows the pass has and however many
// threads compute, so drafts are checked with the attention that plain decoding has. Therefore the results of each
// `CHUNK_KEYS` keys are computed by themselves and then merged from the first to the last.
#pragma once
#include <math.h>
#include <string.h>

#include "products.hpp"

namespace {

constexpr int TILE_ROWS = ROWS == 16 ? 6 : 3;  // with four registers each, the sums take 24 of 32 or 12 of 16 registers
constexpr int TILE_KEYS = 4 * ROWS;
constexpr int MOST_HEAD = 256;     // numbers of a head
constexpr int ROWS_AT_ONCE = 384;  // for which keys and values are unpacked once
constexpr int CHUNK_KEYS = 256;         // keys
constexpr long MOST_ROOM = 4 << 20;  // bytes that threads may take to share the keys of a pass
static_assert(CHUNK_KEYS % TILE_KEYS == 0);

using Bits = uint32_t __attribute__((vector_size(sizeof(Floats))));

INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }

// Compute the exponential function of numbers that are not positive, as 2^n · 2^f with |f| <= 1/2. The coefficients are
// ln(2)^k / k!; the error is below 2e-7 of the result. Below -87 the result is 0.
INLINE Floats exp_of(Floats x) {
    const auto magic = all(0x1.8p23f);  // numbers of this size have no bits behind the point
    const auto shifted = plus_product(magic, x, all(0x1.715476p0f)), n = shifted - magic;
    const auto f = plus_product(plus_product(no_floats() - n, x, all(0x1.715476p0f)), x, all(0x1.4ae0cp-26f));
    auto sum = all(1.5403530e-4f);
    for (float next : {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
        sum = plus_product(all(next), sum, f);
    const auto power = (Floats)(((Bits)shifted << 23) + 0x3f800000u);
    return (Floats)((Bits)(sum * power) & (Bits)(x > all(-87.0f)));
}

// Add to `sums` the product of the rows `a` and the matrix `b`, four registers wide, with `stride` floats to a row.
INLINE void add_matrix(const float * const * a, const float * b, int stride, int depth, Floats (*sums)[4]) {
    for (int k = 0; k < depth; ++k, b += stride) {
        Floats numbers[TILE_ROWS];
        _Pragma("GCC unroll 6") for (int i = 0; i < TILE_ROWS; ++i) numbers[i] = all(a[i][k]);
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; ++r) {
            const auto column = load(b + r * ROWS);
            _Pragma("GCC unroll 6") for (int i = 0; i < TILE_ROWS; ++i)
                sums[i][r] = plus_product(sums[i][r], numbers[i], column);
        }
    }
}

// Convert eight numbers of eight keys and write them with the keys side by side.
INLINE void transpose_eight(const char * from, long stride, float * to) {
    __m256 rows[8], pairs[8], fours[8];
    for (int i = 0; i < 8; ++i) rows[i] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i * stride)));
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; ++j) {
            fours[i + 2 * j] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0x44);
            fours[i + 2 * j + 1] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0xee);
        }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(to + i * TILE_KEYS, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * TILE_KEYS, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31));
    }
}

// The mask of a row that sees none of a tile's keys.
struct Hidden {
    uint16_t of[TILE_KEYS];

    constexpr Hidden() : of() {
        for (auto & one : of) one = 0xfc00;  // minus infinity as a float16
    }
};
constexpr Hidden ALL_HIDDEN;

// Keys and values of a tile as floats.
struct Tile {
    alignas(64) float keys[MOST_HEAD * TILE_KEYS];    // (number, key)
    alignas(64) float values[TILE_KEYS * MOST_HEAD];  // (key, number)

    void unpack(const Attention & of, int head, int key) {
        const auto k = of.k + head * of.k_head + key * of.k_key, v = of.v + head * of.v_head + key * of.v_key;
        for (int i = 0; i < TILE_KEYS; i += 8)
            for (int n = 0; n < of.key_size; n += 8)
                transpose_eight(k + i * of.k_key + 2 * n, of.k_key, keys + n * TILE_KEYS + i);
        for (int i = 0; i < TILE_KEYS; ++i)
            for (int n = 0; n < of.value_size; n += ROWS)
                store(values + i * of.value_size + n, load_half((const uint16_t *)(v + i * of.v_key) + n), ALL_LANES);
    }
};

// The rows of a head of keys: those of one token, one for each of the heads that share the keys, lie side by side.
struct Queries {
    const Attention & of;
    int head, group;

    int token(int row) const { return row / group; }
    int query_head(int row) const { return head * group + row % group; }
    const float * query(int row) const {
        return (const float *)(of.q + query_head(row) * of.q_head + token(row) * of.q_token);
    }
    float * result(int row) const {
        return (float *)((char *)of.result + (long(token(row)) * of.heads + query_head(row)) * of.result_row);
    }
    const uint16_t * mask(int row, int key) const {
        return (const uint16_t *)(of.mask + token(row) * of.mask_token) + key;
    }
    // Whether the rows from `first` up to `last` see none of the tile's keys.
    bool see_nothing(int first, int last, int key) const {
        for (int row = first; row <= last; row += group - row % group)
            if (memcmp(mask(row, key), ALL_HIDDEN.of, sizeof ALL_HIDDEN.of)) return false;
        return true;
    }
};

// The softmax of some rows over some keys: the largest score, the sum of exponential functions of the scores less that,
// and the sum of values times these, `size` numbers a row.
struct Sums {
    float *largest, *sum, *results;
    int size;

    float * result(int row) const { return results + long(row) * size; }
    void clear(int rows) const {
        for (int row = 0; row < rows; ++row) largest[row] = -INFINITY, sum[row] = 0;
    }
};

// Add a tile's keys and values to the sums of up to `TILE_ROWS` rows from `row` on; `first` is the row of the first sum.
void add_tile_of_keys(const Queries & queries, Tile & tile, const Sums & sums, int first, int row, int count, int key) {
    const auto & of = queries.of;
    const float * from[TILE_ROWS];
    for (int i = 0; i < TILE_ROWS; ++i) from[i] = queries.query(row + (i < count ? i : 0));
    Floats scores[TILE_ROWS][4];
    for (auto & one : scores)
        for (auto & four : one) four = no_floats();
    add_matrix(from, tile.keys, TILE_KEYS, of.key_size, scores);

    alignas(64) float probabilities[TILE_ROWS][TILE_KEYS];
    float kept[TILE_ROWS];  // the share of the results so far that is left, because a larger score came; 0 at first
    for (int i = 0; i < TILE_ROWS; ++i) {
        from[i] = probabilities[i];
        if (i >= count) {
            memset(probabilities[i], 0, sizeof probabilities[i]);
            continue;
        }
        const auto mask = queries.mask(row + i, key);
        auto most = all(-INFINITY);
        for (int r = 0; r < 4; ++r) {
            scores[i][r] = plus_product(load_half(mask + r * ROWS), scores[i][r], all(of.scale));
            most = larger(most, scores[i][r]);
        }
        auto & largest = sums.largest[row - first + i], & sum = sums.sum[row - first + i];
        const float now = largest_of(most), before = largest;
        largest = now > before ? now : before;
        auto total = no_floats();
        for (int r = 0; r < 4; ++r) {
            // A row that has seen no key yet has no largest score to subtract.
            auto p = largest == -INFINITY ? no_floats() : exp_of(scores[i][r] - all(largest));
            store(probabilities[i] + r * ROWS, p, ALL_LANES);
            total = total + p;
        }
        kept[i] = before == -INFINITY ? 0 : before == largest ? 1 : exp_of(all(before - largest))[0];
        sum = sum * kept[i] + sum_of(total);
    }

    for (int n = 0; n < of.value_size; n += 4 * ROWS) {
        Floats results[TILE_ROWS][4];
        for (int i = 0; i < TILE_ROWS; ++i)
            for (int r = 0; r < 4; ++r) {
                const bool empty = i >= count || kept[i] == 0;  // what was there before may be no number
                results[i][r] = empty ? no_floats() : load(sums.result(row - first + i) + n + r * ROWS) * all(kept[i]);
            }
        add_matrix(from, tile.values + n, of.value_size, TILE_KEYS, results);
        for (int i = 0; i < count; ++i)
            for (int r = 0; r < 4; ++r) store(sums.result(row - first + i) + n + r * ROWS, results[i][r], ALL_LANES);
    }
}

// Compute the sums of the rows from `first` up to before `end` over the keys of a chunk, which begins at `key`.
void attend_chunk(const Queries & queries, Tile & tile, const Sums & sums, int first, int end, int key) {
    sums.clear(end - first);
    const int behind = key + CHUNK_KEYS < queries.of.keys ? key + CHUNK_KEYS : queries.of.keys;
    for (; key < behind; key += TILE_KEYS) {
        if (queries.see_nothing(first, end - 1, key)) continue;
        tile.unpack(queries.of, queries.head, key);
        for (int row = first; row < end; row += TILE_ROWS) {
            const int count = end - row < TILE_ROWS ? end - row : TILE_ROWS;
            if (!queries.see_nothing(row, row + count - 1, key))
                add_tile_of_keys(queries, tile, sums, first, row, count, key);
        }
    }
}

// A row's result over the chunks so far. Its functions are never inlined, so that the compiler rounds alike in all passes.
struct Merged {
    float * result;
    float largest = -INFINITY, sum = 0;

    // Add the sums of a chunk of keys.
    __attribute__((noinline)) void add(const Sums & sums, int row) {
        const float theirs = sums.largest[row];
        if (theirs == -INFINITY) return;  // the row sees none of the chunk's keys
        const float most = theirs > largest ? theirs : largest;
        const auto old_share = all(largest == most ? 1 : largest == -INFINITY ? 0 : exp_of(all(largest - most))[0]);
        const auto new_share = all(theirs == most ? 1 : exp_of(all(theirs - most))[0]);
        const bool is_first = largest == -INFINITY;  // what is in `result` may be no number
        for (int n = 0; n < sums.size; n += ROWS) {
            const auto before = is_first ? no_floats() : load(result + n) * old_share;
            store(result + n, plus_product(before, load(sums.result(row) + n), new_share), ALL_LANES);
        }
        sum = plus_product(all(sum) * old_share, all(sums.sum[row]), new_share)[0];
        largest = most;
    }

    __attribute__((noinline)) void finish(int size) const {
        for (int n = 0; n < size; n += ROWS)
            store(result + n, sum > 0 ? load(result + n) * all(1 / sum) : no_floats(), ALL_LANES);
    }
};

// Compute the results of the rows from `first` up to before `end`, at most `ROWS_AT_ONCE`.
void attend_rows(const Queries & queries, Tile & tile, int first, int end) {
    float largest[ROWS_AT_ONCE], sum[ROWS_AT_ONCE];
    alignas(64) float results[ROWS_AT_ONCE * MOST_HEAD];
    const Sums sums{largest, sum, results, queries.of.value_size};
    Merged merged[ROWS_AT_ONCE];
    for (int row = first; row < end; ++row) merged[row - first].result = queries.result(row);
    for (int key = 0; key < queries.of.keys; key += CHUNK_KEYS) {
        attend_chunk(queries, tile, sums, first, end, key);
        for (int row = 0; row < end - first; ++row) merged[row].add(sums, row);
    }
    for (int row = 0; row < end - first; ++row) merged[row].finish(sums.size);
}

int chunks_of(int keys) { return (keys + CHUNK_KEYS - 1) / CHUNK_KEYS; }

// Return the bytes that threads need to share the keys of a pass, or 0 if each thread had better take some rows.
//
// Keys and values of a tile are unpacked for all its rows, which takes about as long as two tiles of rows. With few rows
// and heads of keys, threads that share the rows would unpack the same keys, or have nothing to do.
size_t attention_room(int tokens, int heads, int kv_heads, int keys, int value_size, int threads) {
    const int rows = tokens * (heads / kv_heads), tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const int parts = kv_heads * chunks_of(keys), parts_each = (parts + threads - 1) / threads;
    const long by_keys = long(parts_each) * CHUNK_KEYS * (2 + tiles);
    const long by_rows = long(keys) * (2 + (kv_heads * tiles + threads - 1) / threads);
    const long room = long(parts) * rows * (value_size + 2) * sizeof(float) + 64;
    return 10 * by_keys < 9 * by_rows && room <= MOST_ROOM ? room : 0;
}

// Compute this thread's part where each takes some chunks of keys, and after that merges the chunks of some rows.
void share_keys(const Attention & of) {
    const int group = of.heads / of.kv_heads, rows = of.tokens * group, chunks = chunks_of(of.keys);
    const auto room = (float *)(((uintptr_t)of.work + 63) / 64 * 64);
    const long all_sums = long(of.kv_heads) * chunks * rows;  // results first, because they are loaded as registers
    auto sums_of = [&](int head, int chunk) {
        const long at = (long(head) * chunks + chunk) * rows;
        const auto behind = room + all_sums * of.value_size;
        return Sums{behind + at, behind + all_sums + at, room + at * of.value_size, of.value_size};
    };
    Tile tile;
    // Neighbouring chunks go to different threads, because a sliding window sees the last ones only.
    for (int part = of.thread; part < of.kv_heads * chunks; part += of.threads) {
        const int head = part % of.kv_heads, chunk = part / of.kv_heads;
        attend_chunk(Queries{of, head, group}, tile, sums_of(head, chunk), 0, rows, chunk * CHUNK_KEYS);
    }
    of.barrier(of.barrier_data);
    for (int at = of.thread; at < of.kv_heads * rows; at += of.threads) {
        const int head = at / rows, row = at % rows;
        Merged merged{Queries{of, head, group}.result(row)};
        for (int chunk = 0; chunk < chunks; ++chunk) merged.add(sums_of(head, chunk), row);
        merged.finish(of.value_size);
    }
}

// Compute this thread's part where each takes some rows.
void share_rows(const Attention & of) {
    const int group = of.heads / of.kv_heads, rows = of.tokens * group, all_rows = rows * of.kv_heads;
    int share = (all_rows + of.threads - 1) / of.threads;
    share = (share + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    const int begin = share * of.thread, end = begin + share < all_rows ? begin + share : all_rows;
    Tile tile;
    for (int at = begin; at < end;) {
        const Queries queries{of, at / rows, group};
        int first = at % rows, last = first + end - at;
        if (last > rows) last = rows;
        if (last > first + ROWS_AT_ONCE) last = first + ROWS_AT_ONCE;
        attend_rows(queries, tile, first, last);
        at += last - first;
    }
}

// Compute this thread's part of the attention; return false, without computing anything, if the sizes do not fit.
bool attend(const Attention & of) {
    if (of.keys % TILE_KEYS || of.key_size % 8 || of.key_size > MOST_HEAD || of.value_size % (4 * ROWS) ||
        of.value_size > MOST_HEAD)
        return false;
    const bool shares_keys =
        of.work && attention_room(of.tokens, of.heads, of.kv_heads, of.keys, of.value_size, of.threads);
    shares_keys ? share_keys(of) : share_rows(of);
    return true;
}

}  // namespace
