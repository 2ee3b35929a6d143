"""Local API: an HTTP server in the form of OpenAI's and Anthropic's APIs, for other programs on this computer.

The engine's process has no network, so the API is a process of its own, the front. It speaks the engine's protocol:
with an engine that it starts (`engine.client_process`), or with the window's engine, through the window (`relay_link`).
"""
