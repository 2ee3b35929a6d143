# Builds ik_llama.cpp's libraries for this processor. Replaces the CMakeLists.txt of ik-llama-cpp-python's archive, which
# also builds a quantizing program: nothing calls that program, it takes a third of the time, and it cannot be built,
# because the archive of 0.1.5 lacks common/cmake.
cmake_minimum_required(VERSION 3.21)
project(ik_llama_cpp_python LANGUAGES C CXX)

# Compile with -march=native; on ARM ik_llama.cpp ignores GGML_NATIVE and takes these flags instead.
set(GGML_NATIVE ON CACHE BOOL "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$" AND NOT MSVC)
    set(GGML_ARCH_FLAGS -mcpu=native)
endif()

# GCC would write more than 100 MB of warnings about its own AVX-512 headers.
set(LLAMA_ALL_WARNINGS OFF CACHE BOOL "")

# The two libraries lie side by side in the package.
if(APPLE)
    set(CMAKE_INSTALL_RPATH "@loader_path")
else()
    set(CMAKE_INSTALL_RPATH "$ORIGIN")
endif()

# EXCLUDE_FROM_ALL, so that its install rules do not add headers and a second copy of both libraries.
add_subdirectory(vendor/ik_llama.cpp EXCLUDE_FROM_ALL)
add_custom_target(libraries ALL DEPENDS llama ggml)
install(TARGETS llama ggml LIBRARY DESTINATION ik_llama_cpp/lib RUNTIME DESTINATION ik_llama_cpp/lib)
