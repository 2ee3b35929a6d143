"""The C API that llama.cpp and ik_llama.cpp share.

May import `engine.runtime.interface` and `contexts`, but none of the two libraries: its classes receive the library as
an argument.
"""
