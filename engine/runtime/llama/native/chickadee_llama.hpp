// The functions of this library that the engine calls; engine/runtime/llama/native.py declares them for Python.
//
// This library is loaded before llama.cpp's, into the scope that the dynamic linker searches first. ggml then calls this
// library's `llamafile_sgemm` (front.cpp), which computes what it knows and leaves the rest to ggml's own. This library
// is compiled against the headers of one version of llama.cpp and refuses to work beside another.
#pragma once
#include <cstdint>

struct ggml_tensor;

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Return the version of llama-cpp-python whose headers this library was compiled with.
EXPORTED const char * chickadee_llama_version();

// Start this library; must be called once, after ggml's kernels were loaded and before they compute anything. `kernels`:
// the handle that dlopen returned for them. `set`: the set of our products that computes: 0 none, 1 AVX2, 2 AVX-VNNI, 3
// AVX-512 with VNNI; tests change the set between passes. Return false, without changing anything, if the loaded
// library is not that of the headers.
EXPORTED bool chickadee_llama_start(void * kernels, int set);

EXPORTED void chickadee_llama_replace(bool on);  // call between passes, to compare with the library's products
EXPORTED bool chickadee_llama_replaced();        // whether our products ever computed

// Compute one thread's part of a product as ggml asks for it, so that tests can ask for single ones: `rows` rows of
// weights and `count` tokens with `blocks` blocks of weights each, of these ggml types, which lie one after the other.
EXPORTED bool chickadee_llama_product(int weight_type, int token_type, int64_t rows, int64_t count, int64_t blocks,
                                      int64_t token_blocks, const void * weights, const void * tokens, float * result,
                                      int thread, int threads);

// A ggml_backend_sched_eval_callback for contexts on a device, which has no stop check. `flag`: a text that is no longer
// empty once the pass is to stop. ggml asks with `ask` whether it should compute up to `node` and wait, and tells
// afterwards that it has; false then ends the pass. Short passes are never divided.
EXPORTED bool chickadee_llama_device_check(ggml_tensor * node, bool ask, void * flag);
