"""Tokenization: chat templates, and text to tokens and back. Imports only `protocol` and single modules of `engine`."""
