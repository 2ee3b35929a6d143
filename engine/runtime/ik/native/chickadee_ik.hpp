// What the engine calls of this library; engine/runtime/ik/native.py declares the same functions for Python.
//
// It is loaded before ik_llama.cpp's library, into the scope that the dynamic linker searches first: that library then
// calls the functions of its own names here (passes.cpp, kernels.cpp), which call those that stand behind them. It is
// compiled against the headers of one version and refuses to work beside another.
#pragma once
#include <cstddef>
#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct ggml_tensor;

// The version of ik-llama-cpp-python whose headers this was compiled with.
EXPORTED const char * chickadee_version();

// Once, after the library was loaded and before it computes anything. `library`: what dlopen returned for it;
// `products`: which of ours compute: 0 none, 1 for AVX2, 2 for AVX-VNNI, 3 for AVX-512 with VNNI. Tests start others
// between passes. False if it is not the library of the headers; then nothing is changed.
EXPORTED bool chickadee_start(void * library, int products);

// Passes: see passes.cpp. One `Pass` a context.
struct Pass;
EXPORTED Pass * chickadee_pass_new(const volatile char * stop);  // stop while this is not 0
EXPORTED void chickadee_pass_free(Pass * pass);
EXPORTED void chickadee_pass_begin(Pass * pass);  // before llama_decode, in its thread
EXPORTED bool chickadee_pass_end(Pass * pass);    // after it; true if it was stopped
EXPORTED bool chickadee_pass_goes_on(ggml_tensor * node, bool ask, void * pass);  // a ggml_backend_sched_eval_callback

// The output head of a model whose head has the embedding's weights: see tied_head.cpp. Null where there is none.
EXPORTED ggml_tensor * chickadee_tied_head(ggml_tensor * embedding);

// Products: see products.cpp.
EXPORTED void chickadee_products_replace(bool on);  // between passes, to compare with theirs
EXPORTED bool chickadee_products_replaced();        // did a table ever get ours?

// Output heads: see output_head.hpp.
// Bytes that a head of `rows` rows of `n` weights takes beside them.
EXPORTED size_t output_head_room(int n, int rows);
// Rows of weights that are computed together.
EXPORTED int output_head_group();
// Rearrange the weights of a head of `rows` tokens in place. Returns its number, or -1 if that is not possible.
EXPORTED int output_head_split(const ggml_tensor * head, int rows);
// The weights are about to be freed; nobody may compute with them any more.
EXPORTED void output_head_forget(int number);
// Between passes: may they be rough?
EXPORTED void output_head_rough(int number, bool on);
// Of row `row` of the last pass, whose logits are there: make exact the `count` largest, and what is larger; all if
// `count` is 0. Returns of how many rows logits were computed again.
EXPORTED int output_head_finish(int number, int row, float * logits, int count);
// Of what such a row lacks, for each such group of rows; 0 where it is exact.
EXPORTED const float * output_head_deviations(int number, int row);

// What this library's own files call of each other.
void start_tied_heads(void * library);

#ifdef __x86_64__

bool start_kernels(void * library);  // find the library's table of products; false where there is none
bool start_products(int set);  // let ours compute; false if the library has none for the types that they replace

#else  // there are none

inline bool start_kernels(void *) { return false; }
inline bool start_products(int) { return false; }

#endif
