// Stands before the function by which ik_llama.cpp fills its table of products, so that ours get into it.
//
// For any processor that the library runs on: what needs more is in products.cpp, which is compiled for each set of
// instructions. The function's name, which its C++ signature is part of, is made by the compiler from the library's own
// header, and looked up as the linker knows it.
#include <dlfcn.h>

#include "chickadee_ik.hpp"
#include "products.hpp"

namespace {

constexpr const ProductSet * SETS[] = {nullptr, &avx2_products, &avx_vnni_products, &avx512_products};

SetKernels set_theirs = nullptr;
const ProductSet * ours = nullptr;
bool replaces = false, has_replaced = false;

bool has_theirs(ggml_type type, ggml_type token_type) {
    Products products;
    Product of_sixteen;
    return set_theirs(QK_K, type, token_type, products, of_sixteen);
}

}  // namespace

bool start_kernels(void * library) {
    Dl_info own;
    if (!dladdr(reinterpret_cast<void *>(&iqk_set_kernels_kquants), &own) || !own.dli_sname) return false;
    set_theirs = reinterpret_cast<SetKernels>(dlsym(library, own.dli_sname));
    return set_theirs != nullptr;
}

bool start_products(int set) {
    ours = SETS[set];
    replaces = has_theirs(GGML_TYPE_Q4_K_R4, GGML_TYPE_Q8_K32) && has_theirs(GGML_TYPE_Q5_K_R4, GGML_TYPE_Q8_K32) &&
               has_theirs(GGML_TYPE_Q6_K_R4, GGML_TYPE_Q8_K);
    return replaces;
}

void chickadee_products_replace(bool on) { replaces = on; }

bool chickadee_products_replaced() { return has_replaced; }

size_t output_head_room(int n, int rows) { return ours->head_room(n, rows); }

int output_head_group() { return ours->rows; }

int output_head_split(const ggml_tensor * head, int rows) { return ours->split_head(head, rows); }

void output_head_forget(int number) { ours->forget_head(number); }

void output_head_rough(int number, bool on) { ours->set_head_rough(number, on); }

int output_head_finish(int number, int row, float * logits, int count) {
    return ours->finish_head(number, row, logits, count);
}

const float * output_head_deviations(int number, int row) { return ours->head_deviations(number, row); }

__attribute__((visibility("default"))) bool iqk_set_kernels_kquants(int n, int type, int token_type, Products & products,
                                                                    Product & of_sixteen) {
    if (!set_theirs || !set_theirs(n, type, token_type, products, of_sixteen)) return false;
    if (replaces && ours->replace(type, products, of_sixteen)) has_replaced = true;
    return true;
}
