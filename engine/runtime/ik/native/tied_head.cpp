// Output heads that have the embedding's weights.
//
// ik_llama.cpp loads such weights twice, as two tensors of one name: one whose rows are looked up, and one that is used
// in products. It does not repack weights of that name into the order that it computes fastest, because rows can be
// looked up in the file's order only. Here the second tensor gets a name of its own and is repacked like all others.
#include <dlfcn.h>
#include <string.h>

#include "chickadee_ik.hpp"
#include "ggml.h"

namespace {

constexpr int ROWS = 16;  // the library's products of some types take 16 rows at a time and abort at other numbers

void (*repack)(ggml_tensor *) = nullptr;  // the library's iqk_repack_tensor

// Return the tensor that was made next in the same context, or null. A tensor's description lies behind its
// ggml_object.
ggml_tensor * next_of(ggml_tensor * tensor) {
    auto object = (ggml_object *)((char *)tensor - GGML_OBJECT_SIZE);
    do object = object->next;
    while (object && object->type != GGML_OBJECT_TYPE_TENSOR);
    return object ? (ggml_tensor *)((char *)object + GGML_OBJECT_SIZE) : nullptr;
}

}  // namespace

void start_tied_heads(void * library) {
    repack = reinterpret_cast<decltype(repack)>(dlsym(library, "iqk_repack_tensor"));
}

ggml_tensor * chickadee_tied_head(ggml_tensor * embedding) {
    if (!repack) return nullptr;
    auto head = next_of(embedding);
    while (head && strcmp(head->name, embedding->name) != 0) head = next_of(head);
    if (!head || head->data == embedding->data || head->ne[1] % ROWS) return nullptr;
    strcpy(head->name, "output.weight");
    repack(head);
    return head;
}
