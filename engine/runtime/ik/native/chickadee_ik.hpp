// The functions of this library that the engine calls; engine/runtime/ik/native.py declares them for Python.
//
// This library is loaded before ik_llama.cpp's, into the scope that the dynamic linker searches first. ik_llama.cpp
// then calls this library's functions where the names are equal (passes.cpp, kernels.cpp), and those call the functions
// that they stand in front of. This library is compiled against the headers of one version of ik_llama.cpp and refuses
// to work beside another.
#pragma once
#include <cstddef>
#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct ggml_tensor;

// Return the version of ik-llama-cpp-python whose headers this library was compiled with.
EXPORTED const char * chickadee_version();

// Start this library; must be called once, after ik_llama.cpp was loaded and before it computes anything. `library`:
// the handle that dlopen returned for ik_llama.cpp. `products`: the set of our products that computes: 0 none, 1 AVX2,
// 2 AVX-VNNI, 3 AVX-512 with VNNI; tests change the set between passes. Return false, without changing anything, if the
// loaded library is not that of the headers.
EXPORTED bool chickadee_start(void * library, int products);

// Passes (passes.cpp). Each context has one `Pass`.
struct Pass;
EXPORTED Pass * chickadee_pass_new(const volatile char * stop);  // passes stop while *stop is not 0
EXPORTED void chickadee_pass_free(Pass * pass);
EXPORTED void chickadee_pass_begin(Pass * pass);  // call before llama_decode, in the same thread
EXPORTED bool chickadee_pass_end(Pass * pass);    // call after llama_decode; returns true if the pass was stopped
EXPORTED bool chickadee_pass_goes_on(ggml_tensor * node, bool ask, void * pass);  // a ggml_backend_sched_eval_callback

// Repack and return the output head of a model whose head has the embedding's weights (tied_head.cpp), or null.
EXPORTED ggml_tensor * chickadee_tied_head(ggml_tensor * embedding);

// Products (products.cpp).
EXPORTED void chickadee_products_replace(bool on);  // call between passes, to compare with the library's
EXPORTED bool chickadee_products_replaced();        // whether our products ever got into a table
// Return the bytes of unpacked weights that each thread keeps while prompts are read, for rows of `n` weights.
EXPORTED size_t chickadee_products_room(int n);
// Return the bytes that the threads of a pass share to compute attention, 0 if they share none.
EXPORTED size_t chickadee_attention_room(int tokens, int heads, int kv_heads, int keys, int value_size, int threads);

// Output heads (output_head.hpp).
// Return the bytes that a head of `rows` rows of `n` weights takes beside the weights.
EXPORTED size_t output_head_room(int n, int rows);
// Return the number of rows of weights that are computed together.
EXPORTED int output_head_group();
// Rearrange the weights of a head of `rows` tokens in place. Return the head's number, or -1 if that is not possible.
EXPORTED int output_head_split(const ggml_tensor * head, int rows);
// Release the head; must be called before its weights are freed, when no pass uses them any more.
EXPORTED void output_head_forget(int number);
// Allow or forbid the next passes to leave logits rough; must be called between passes.
EXPORTED void output_head_rough(int number, bool on);
// Make the `count` largest logits of the last pass's row `row` exact, and all larger ones; all logits if `count` is 0.
// `logits` points to the row. Return the number of rows of weights whose logits were computed again.
EXPORTED int output_head_finish(int number, int row, float * logits, int count);
// Return the standard deviations of the errors in a rough row, one for each group of rows; 0 where logits are exact.
EXPORTED const float * output_head_deviations(int number, int row);

// Functions that the files of this library call of each other.
void start_tied_heads(void * library);

#ifdef __x86_64__

bool start_kernels(void * library);  // find the library's tables of products; false if there are none
bool start_products(int set);  // let our products compute; false if the library has none for the types they replace

#else  // we have no products for other processors

inline bool start_kernels(void *) { return false; }
inline bool start_products(int) { return false; }

#endif
