"""What llama.cpp and ik_llama.cpp have in common: the C API."""
