# Builds llama.cpp's libraries for Windows on Linux, by mingw, with kernels for every kind of x86-64 processor. Replaces
# the CMakeLists.txt of llama-cpp-python's archive, which has no settings for another system and builds more.
cmake_minimum_required(VERSION 3.21)
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
project(llama_cpp LANGUAGES C CXX)

set(BUILD_SHARED_LIBS ON)
set(GGML_NATIVE OFF CACHE BOOL "")
set(GGML_BACKEND_DL ON CACHE BOOL "")
set(GGML_CPU_ALL_VARIANTS ON CACHE BOOL "")
set(GGML_OPENMP OFF CACHE BOOL "") # its runtime would be one more library; ggml has threads of its own
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "")
set(LLAMA_BUILD_MTMD ON CACHE BOOL "") # for pictures
set(MTMD_VIDEO OFF CACHE BOOL "") # would start programs, which the engine must not
set(LLAMA_CURL OFF CACHE BOOL "")

# Debian 12's mingw-w64 (version 10) lacks what ggml asks of Windows to be scheduled on the fast cores.
file(WRITE ${CMAKE_BINARY_DIR}/older_mingw.h "
#ifndef __ASSEMBLER__
#include <_mingw.h>
#if __MINGW64_VERSION_MAJOR < 11
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#define THREAD_POWER_THROTTLING_CURRENT_VERSION 1
#define THREAD_POWER_THROTTLING_EXECUTION_SPEED 1
typedef struct { ULONG Version, ControlMask, StateMask; } THREAD_POWER_THROTTLING_STATE;
#endif
#endif
")
# GCC aligns AVX's spilled registers to 32 bytes where 64-bit Windows aligns the stack to 16 (its bug 54412): a crash,
# unless the assembler writes moves that need no alignment. AMX as in prepare.py.
add_compile_options(
    -D_WIN32_WINNT=0x0A00 -include ${CMAKE_BINARY_DIR}/older_mingw.h -Wa,-muse-unaligned-vector-move -w
    $<$<COMPILE_LANGUAGE:CXX>:-U__AMX_INT8__>)
# The compiler's own libraries are linked in, and not passed on: another program's libstdc++-6.dll in the PATH cannot
# take their place.
add_link_options(-static -s -Wl,--exclude-libs,ALL)

# EXCLUDE_FROM_ALL, so that its install rules do not add headers.
add_subdirectory(vendor/llama.cpp EXCLUDE_FROM_ALL)
add_custom_target(libraries ALL DEPENDS llama mtmd)
install(
    TARGETS llama mtmd ggml ggml-base ${GGML_AVAILABLE_BACKENDS}
    RUNTIME DESTINATION llama_cpp/lib
    LIBRARY DESTINATION llama_cpp/lib)
