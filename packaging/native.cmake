# ik_llama.cpp's libraries for this very processor: stands in for the CMakeLists.txt of ik-llama-cpp-python's archive.
# That one also builds a program for quantizing. Nothing here calls it, it takes a third of the time, and it does not
# build: the archive of 0.1.5 lacks common/cmake.
cmake_minimum_required(VERSION 3.21)
project(ik_llama_cpp_python LANGUAGES C CXX)

# The compiler's -march=native; on ARM ik_llama.cpp leaves GGML_NATIVE out and takes flags as they are.
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

# Excluded, its install rules cannot add headers and a second copy of both libraries.
add_subdirectory(vendor/ik_llama.cpp EXCLUDE_FROM_ALL)
add_custom_target(libraries ALL DEPENDS llama ggml)
install(TARGETS llama ggml LIBRARY DESTINATION ik_llama_cpp/lib RUNTIME DESTINATION ik_llama_cpp/lib)
