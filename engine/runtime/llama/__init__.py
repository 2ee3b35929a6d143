"""A model that llama.cpp runs."""
