// How this library's own files know each other.
#pragma once

#ifdef __x86_64__

// Find the library's table of products. False where there is none.
bool start_kernels(void * library);

// Let our products compute. False if the library has none for the types that they replace.
bool start_products();

#else  // there are none

inline bool start_kernels(void *) { return false; }
inline bool start_products() { return false; }

#endif
