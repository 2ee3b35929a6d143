// Matrix products of long passes, which read prompts. Included by products.cpp.
//
// ik_llama.cpp multiplies 64 rows of weights with 16 tokens, then the same rows with the next 16, and so on. So the rows
// are unpacked at the first of these calls and kept by the thread. The product then takes four tokens and twice a
// register's rows at a time: each number that is loaded serves two products, and each weight four.
#pragma once
#include <pthread.h>
#include <stdlib.h>

namespace {

constexpr int KEPT_ROWS = 64;       // of a call
constexpr int STEP = 16;            // tokens of a call
constexpr int TALL = 4, WIDE = 2;  // tokens and registers of rows of a tile

template <typename Block> constexpr bool HAS_OFFSETS = std::is_same_v<Block, Q6>;
template <typename Block> constexpr int MOST = std::is_same_v<Block, Q6> ? 63 : std::is_same_v<Block, Q5> ? 31 : 15;

// Registers of weights that share a scale and whose products are summed before they are multiplied by it.
template <typename Block> constexpr int SUMMED = HAS_OFFSETS<Block> ? 4 : FIT<MOST<Block>>;

// Whether a pass of 16 tokens, which uses unpacked rows only once, is faster without unpacking them to memory.
template <typename Block> constexpr bool UNPACKS_LATE = ROWS > 8 && !HAS_OFFSETS<Block>;

// A block of a register's rows: four columns of every row in each register.
template <typename Block> struct alignas(64) Plain {
    Ints weights[BLOCK / 4];
    Ints scales[BLOCK / 4 / SUMMED<Block>];
    Floats d;
    Floats minimums[HAS_OFFSETS<Block> ? 1 : 8];

    INLINE void unpack_from(const Block * const * block) {
        d = halves_to_floats([&](int g) INLINED { return block[g]->d; });
        if constexpr (HAS_OFFSETS<Block>) {
            alignas(64) int8_t packed[16 * ROWS];
            gather([&](int g) INLINED { return block[g]->scales; }, 16, packed);
            for (int s = 0; s < 16; ++s) scales[s] = scale_of(packed + ROWS * s);
            for (int part = 0; part < 8; ++part) {
                Halves low1([&](int g) INLINED { return block[g]->low[part][0]; });
                Halves low2([&](int g) INLINED { return block[g]->low[part][1]; });
                Halves highs([&](int g) INLINED { return block[g]->high[part]; });
                unpack_six(low1.first, low2.first, highs.first, weights + 8 * part);
                unpack_six(low1.second, low2.second, highs.second, weights + 8 * part + 4);
            }
        } else {
            constexpr int each = 8 / SUMMED<Block>;  // sums of a part
            alignas(64) int8_t packed[8 * ROWS], mins[8 * ROWS];
            scales_and_mins(block, packed, mins);
            minimums_of(block, mins, minimums);
            for (int part = 0; part < 8; ++part) {
                for (int i = 0; i < each; ++i) scales[each * part + i] = scale_of(packed + ROWS * part);
                unpack(block, part, weights + 8 * part);
            }
        }
    }
};

// The unpacked rows of a thread, and where the sequence of calls that they belong to goes on.
struct Kept {
    char * memory;
    size_t size;
    const void * weights;
    const float * to;
    int next;  // token
    bool unpacked;

    bool goes_on(const void * of, const DataInfo & info) const {
        return memory && weights == of && to == info.s && next == info.cur_y && next > 0;
    }
};

// A layer's gate and up matrices are multiplied in turns: hence two.
struct Thread {
    Kept kept[2];
};

pthread_key_t thread_key;
pthread_once_t key_made = PTHREAD_ONCE_INIT;
bool has_key = false;

void forget_thread(void * of) {
    for (auto & kept : ((Thread *)of)->kept) free(kept.memory);
    free(of);
}

// Return what this thread keeps, or null without memory for it. It is freed when the thread ends.
Thread * this_thread() {
    pthread_once(&key_made, [] { has_key = !pthread_key_create(&thread_key, forget_thread); });
    if (!has_key) return nullptr;
    auto found = (Thread *)pthread_getspecific(thread_key);
    if (found) return found;
    auto made = (Thread *)calloc(1, sizeof(Thread));
    if (made && pthread_setspecific(thread_key, made)) free(made), made = nullptr;
    return made;
}

// Return the rows that were kept by the call before this one, or room for them with `next` 0; null without memory.
Kept * rows_for(const void * weights, const DataInfo & info, size_t size) {
    auto thread = this_thread();
    if (!thread) return nullptr;
    for (auto & kept : thread->kept)
        if (kept.goes_on(weights, info)) return &kept;
    // Another matrix with the same result has just begun: these two are multiplied in turns.
    auto & first = thread->kept[0];
    const bool in_turns = first.memory && first.to == info.s && first.next == info.cur_y + STEP && first.weights != weights;
    auto & kept = thread->kept[in_turns];
    if (kept.size < size) {
        free(kept.memory);
        kept.memory = (char *)aligned_alloc(64, size);
        kept.size = kept.memory ? size : 0;
    }
    kept.weights = weights, kept.to = info.s, kept.next = 0, kept.unpacked = false;
    return kept.memory ? &kept : nullptr;
}

// Add to `result` the product of a block's columns of `WIDE` registers of rows and `TALL` tokens.
template <typename Block>
INLINE void add_tile(const Plain<Block> * const * rows, const Token * const * token, const int32_t * const * offsets,
                     Floats (*result)[WIDE]) {
#define EACH_TOKEN _Pragma("GCC unroll 4") for (int t = 0; t < TALL; ++t)
#define EACH_REGISTER _Pragma("GCC unroll 2") for (int r = 0; r < WIDE; ++r)
    if constexpr (!HAS_OFFSETS<Block>)
        EACH_TOKEN {
            _Pragma("GCC unroll 8") for (int part = 0; part < 8; ++part) {
                auto sum = all(token[t]->scaled_sums[part]);
                EACH_REGISTER result[t][r] = less_product(result[t][r], rows[r]->minimums[part], sum);
            }
        }
    Ints sums[TALL][WIDE];
    EACH_TOKEN EACH_REGISTER sums[t][r] = no_ints();
    for (int s = 0; s < BLOCK / 4 / SUMMED<Block>; ++s) {
        Ints products[TALL][WIDE];
        _Pragma("GCC unroll 8") for (int i = 0; i < SUMMED<Block>; ++i) {
            const int column = SUMMED<Block> * s + i;
            Ints weights[WIDE];
            EACH_REGISTER weights[r] = rows[r]->weights[column];
            EACH_TOKEN {
                auto numbers = broadcast(token[t]->quants + 4 * column);
                EACH_REGISTER {
                    auto & sum = products[t][r];
                    if (i) sum = plus_products(sum, weights[r], numbers);
                    else if (HAS_OFFSETS<Block>) sum = plus_products(broadcast(offsets[t] + s), weights[r], numbers);
                    else sum = first_products(weights[r], numbers);
                }
            }
        }
        EACH_TOKEN EACH_REGISTER sums[t][r] = plus_scaled(sums[t][r], products[t][r], rows[r]->scales[s]);
        asm volatile("" ::: "memory");  // GCC 12 would mix the parts and run out of registers: 10 to 30 % slower
    }
    EACH_TOKEN EACH_REGISTER
        result[t][r] = plus_product(result[t][r], rows[r]->d * all(token[t]->d), to_floats(sums[t][r]));
#undef EACH_TOKEN
#undef EACH_REGISTER
}

// Return the bytes that the unpacked rows of a call take if they have `n` weights.
size_t long_pass_room(int n) {
    const size_t most = sizeof(Plain<Q4>) > sizeof(Plain<Q5>) ? sizeof(Plain<Q4>) : sizeof(Plain<Q5>);
    return (most > sizeof(Plain<Q6>) ? most : sizeof(Plain<Q6>)) * (n / BLOCK) * (KEPT_ROWS / ROWS);
}

template <typename Block>
void unpack_rows(const void * weights, size_t stride, int rows, int blocks, Plain<Block> * to) {
    for (int row = 0; row < rows; row += ROWS) {
        auto from = (const char *)weights + row * stride, ahead = from + ROWS * stride;
        Rows<Block> of(from, stride, rows - row);
        for (int block = 0; block < blocks; ++block, ahead += GROUPS * sizeof(Block)) {
            for (int eighth = 0; eighth < 8; ++eighth) ask_for(ahead, eighth, GROUPS * sizeof(Block));
            to++->unpack_from(of.block);
            for (auto & next : of.block) ++next;
        }
    }
}

// Compute the product of 16 tokens and up to 64 rows, a multiple of four. Sums are added in the order of `product`.
template <typename Block>
void long_product(int n, const void * weights, size_t stride, const DataInfo & info, int rows) {
    const int blocks = n / BLOCK, registers = (rows + ROWS - 1) / ROWS;
    const bool is_head = HAS_OFFSETS<Block> && OutputHead::of(weights);
    Kept * kept = nullptr;
    if (!is_head && rows <= KEPT_ROWS && blocks <= LONGEST)
        kept = rows_for(weights, info, sizeof(Plain<Block>) * blocks * registers);
    const bool is_first = kept && !kept->next;
    if (kept) kept->next = info.cur_y + STEP;
    if (!kept || (is_first && UNPACKS_LATE<Block>)) {
        auto half = info;
        product<Block, 8>(n, weights, stride, half, rows);
        half.cur_y += 8;
        return product<Block, 8>(n, weights, stride, half, rows);
    }
    auto plain = (Plain<Block> *)kept->memory;
    if (!kept->unpacked) unpack_rows(weights, stride, rows, blocks, plain);
    kept->unpacked = true;
    const Token * first[STEP];
    int32_t offsets[STEP][HAS_OFFSETS<Block> ? SCALES * LONGEST : 1];
    for (int i = 0; i < STEP; ++i) {
        first[i] = (const Token *)info.src1_row(i);
        if constexpr (HAS_OFFSETS<Block>)
            for (int block = 0; block < blocks; ++block) offsets_of(first[i][block], offsets[i] + SCALES * block);
    }
    for (int at = 0; at < registers; at += WIDE) {
        Floats results[STEP][WIDE];
        for (auto & of : results)
            for (auto & result : of) result = no_floats();
        for (int block = 0; block < blocks; ++block) {
            const Plain<Block> * here[WIDE];  // the last register is computed twice if it has no neighbour
            for (int r = 0; r < WIDE; ++r) here[r] = plain + (at + r < registers ? at + r : at) * blocks + block;
            for (int i = 0; i < STEP; i += TALL) {
                const Token * token[TALL];
                const int32_t * begin[TALL];
                for (int t = 0; t < TALL; ++t) {
                    token[t] = first[i + t] + block;
                    begin[t] = offsets[i + t] + (HAS_OFFSETS<Block> ? SCALES * block : 0);
                }
                add_tile<Block>(here, token, begin, results + i);
            }
        }
        for (int r = 0; r < WIDE && at + r < registers; ++r) {
            const int row = (at + r) * ROWS;
            for (int i = 0; i < STEP; ++i) store(info.dst_row(i) + row, results[i][r], lanes_of(rows - row));
        }
    }
}

}  // namespace
