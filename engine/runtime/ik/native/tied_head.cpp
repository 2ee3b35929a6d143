// Output heads that have the embedding's weights.
//
// ik_llama.cpp loads such weights twice, as two tensors of one name: one whose rows are looked up, and one that is
// multiplied with. Of weights of that name it puts none into the order that it computes fastest, for rows are found in
// the file's order only. The second tensor has a name of its own from now on, and is put into that order like all others.
#include <dlfcn.h>
#include <string.h>

#include "chickadee_ik.hpp"
#include "ggml.h"

namespace {

constexpr int ROWS = 16;  // the library's products of some types take so many rows at a time, and abort otherwise

void (*repack)(ggml_tensor *) = nullptr;  // the library's iqk_repack_tensor

// The tensor that was made next in the same context, or null. Its description lies behind its ggml_object.
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
