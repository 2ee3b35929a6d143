// Stands before the function by which ik_llama.cpp fills its table of products, so that ours get into it.
//
// For any processor that the library runs on: what needs more is in products.cpp. The function's name, which its C++
// signature is part of, is made by the compiler from the library's own header, and looked up as the linker knows it.
#include <dlfcn.h>

#include "chickadee_ik.hpp"
#include "products.hpp"

namespace {

SetKernels set_theirs = nullptr;
bool replaces = false, has_replaced = false;

}  // namespace

bool start_kernels(void * library) {
    Dl_info own;
    if (!dladdr(reinterpret_cast<void *>(&iqk_set_kernels_kquants), &own) || !own.dli_sname) return false;
    set_theirs = reinterpret_cast<SetKernels>(dlsym(library, own.dli_sname));
    return set_theirs != nullptr;
}

bool start_products() {
    replaces = keep_theirs(set_theirs);
    return replaces;
}

void chickadee_products_replace(bool on) { replaces = on; }

bool chickadee_products_replaced() { return has_replaced; }

__attribute__((visibility("default"))) bool iqk_set_kernels_kquants(int n, int type, int token_type, Products & products,
                                                                    Product & of_sixteen) {
    if (!set_theirs || !set_theirs(n, type, token_type, products, of_sixteen)) return false;
    if (replaces && replace(type, products)) has_replaced = true;
    return true;
}
