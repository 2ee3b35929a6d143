// Windows 10's bcryptprimitives.dll, which Wine 8 lacks: Rust's libraries take random bytes from it.
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(unsigned char *bytes, size_t count) {
    return RtlGenRandom(bytes, (ULONG)count);
}
