"""Protocol: the messages between window and engine. Imports `common` only; neither llama.cpp nor Qt nor `models`.

The window sends requests (`requests`). The engine answers each request with events (`events`) that carry the request's
id; the last event of a request is one of `ENDS`. `lines` converts messages to lines of JSON and back. `settings`
declares the settings that fill requests.
"""
