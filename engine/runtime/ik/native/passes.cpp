// Passes of ik_llama.cpp that can be stopped while they run, and whose buffer of logits is not filled with zeros first.
//
// The library's own way to stop a pass, its abort callback, hangs now and then: the first thread says stop after a node
// of the graph; another thread, late at the barrier before, already reads the stop and leaves; and the first thread
// waits for it for ever. The scheduler's callback is safe: the scheduler asks it where to cut a graph into parts,
// computes one part after the other with all threads, and asks after each part whether to go on. Parts are of equal
// work, so passes of few tokens are hardly ever cut, and a stop takes as long as one part.
//
// Before each pass the library fills its buffer of logits with zeros. The buffer is as large as the pass with the most
// rows so far needed: 29 MB once a draft of 47 tokens was verified (152 k logits a row). Filling it takes 1.4 ms of
// every later pass, 5 % of a 1.5B model's plain step. The library clears no other buffer within a pass.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "chickadee_ik.hpp"
#include "ggml-backend.h"
#include "ggml.h"

struct Pass {
    const volatile char * stop;
    int64_t work;  // multiplications since the last cut
    bool stopped;
};

namespace {

constexpr int64_t PART = 1'000'000'000;  // multiplications: 10 to 50 ms of two cores

thread_local const Pass * running = nullptr;
decltype(&ggml_backend_buffer_clear) clear_theirs = nullptr;

template <typename Function> Function * found(void * library, const char * name) {
    return reinterpret_cast<Function *>(dlsym(library, name));
}

// Return roughly how many multiplications a node takes.
int64_t work_of(const ggml_tensor & node) {
    const int64_t results = node.ne[0] * node.ne[1] * node.ne[2] * node.ne[3];
    switch (node.op) {
        case GGML_OP_MUL_MAT:
        case GGML_OP_MUL_MAT_ID: return results * node.src[0]->ne[0];
        case GGML_OP_FUSED_UP_GATE:
        case GGML_OP_MOE_FUSED_UP_GATE: return 2 * results * node.src[0]->ne[0];
        case GGML_OP_FLASH_ATTN_EXT: return 2 * results * node.src[1]->ne[1];  // keys that each token attends to
        default: return 0;  // do not cut here: such a node may begin a group that the library computes together
    }
}

// Whether types, operations and tensors of the loaded library are those of the headers.
bool is_of_headers(void * library) {
    auto overhead = found<decltype(ggml_tensor_overhead)>(library, "ggml_tensor_overhead");
    auto type_name = found<decltype(ggml_type_name)>(library, "ggml_type_name");
    auto op_name = found<decltype(ggml_op_name)>(library, "ggml_op_name");
    if (!overhead || !type_name || !op_name) return false;
    auto same = [](const char * a, const char * b) { return a && strcmp(a, b) == 0; };
    return overhead() == GGML_OBJECT_SIZE + GGML_TENSOR_SIZE && same(type_name(GGML_TYPE_Q6_K_R4), "q6_k_r4") &&
           same(type_name(GGML_TYPE_Q8_K32), "q8_K32") && same(op_name(GGML_OP_FLASH_ATTN_EXT), "FLASH_ATTN_EXT") &&
           same(op_name(GGML_OP_FUSED_UP_GATE), "FUSED_UP_GATE");
}

}  // namespace

const char * chickadee_version() { return IK_VERSION; }

bool chickadee_start(void * library, int products) {
    clear_theirs = found<decltype(ggml_backend_buffer_clear)>(library, "ggml_backend_buffer_clear");
    const bool has_kernels = start_kernels(library);
    start_tied_heads(library);
    if (!clear_theirs || !is_of_headers(library)) return false;
    return !products || (has_kernels && start_products(products));
}

Pass * chickadee_pass_new(const volatile char * stop) {
    auto pass = static_cast<Pass *>(malloc(sizeof(Pass)));
    if (pass) *pass = {stop, 0, false};
    return pass;
}

void chickadee_pass_free(Pass * pass) { free(pass); }

void chickadee_pass_begin(Pass * pass) {
    *pass = {pass->stop, 0, false};
    running = pass;
}

bool chickadee_pass_end(Pass * pass) {
    running = nullptr;
    return pass->stopped;
}

// The scheduler calls this for each node, with `ask`, to know whether to cut behind it, and after each part, without
// `ask`, to know whether to go on.
bool chickadee_pass_goes_on(ggml_tensor * node, bool ask, void * of) {
    auto & pass = *static_cast<Pass *>(of);
    if (!ask) {
        pass.stopped = *pass.stop != 0;
        return !pass.stopped;
    }
    const auto work = work_of(*node);
    pass.work += work;
    if (work == 0 || pass.work < PART) return false;
    pass.work = 0;
    return true;
}

EXPORTED void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    if (!running) clear_theirs(buffer, value);
}
