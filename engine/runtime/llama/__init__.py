"""The runtime on llama.cpp.

May import llama_cpp, `engine.runtime.capi` and `interface`, but not `ik`: both libraries define the same symbols.
"""
