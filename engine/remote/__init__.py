"""The remote engine: has servers answer that speak OpenAI's API, and speaks the engine's own protocol with the window.

It is a process of its own (`python -m engine remote`), so a connection that hangs never hangs the window, and what a
server sends is read where nothing else can be reached.
"""
