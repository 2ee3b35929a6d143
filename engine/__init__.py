"""The engine: a process that loads one model and answers chats with it.

A package imports only from the lines below its own (checked by import-linter, see `pyproject.toml`):

- `commands`: the terminal's commands (`chat`, `plan`, `calibrate`, …); beside it `serve`: requests in, events out
- `engine`: one loaded model, driven by protocol requests
- `loading`: from what is asked for to a loaded model; beside it `generation`: the decode loop, sampling and answers
- `speculative`: drafters, and the policy that decides whether a draft pays
- `kv`: the KV cache's tokens, saved chats and policies; beside it `costs`: what a pass costs on this machine
- `runtime`: running models, one subpackage for each library
- `tokenization`: chat templates, text to tokens and back
- `protocol`: requests, events and settings; beside it `machine`, `rights`, `stop` and `run_subprocess`
"""
