"""The runtime on ik_llama.cpp.

May import ik_llama_cpp, `engine.runtime.capi` and `interface`, but not `llama`: both libraries define the same symbols.
"""
