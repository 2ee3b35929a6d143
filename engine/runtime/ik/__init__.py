"""A model that ik_llama.cpp runs."""
