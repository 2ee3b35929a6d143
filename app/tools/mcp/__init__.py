"""MCP servers as sources of tools: each is a program that a child process of ours runs confined, or a web address.

MCP is the Model Context Protocol, https://modelcontextprotocol.io. A server is a stranger: its texts are cut, its word
about itself counts for nothing, and it is started only when one of its tools is called or the user asks for its list.
"""

SERVE_TOOLS = "--serve-tools"  # option with which a packaged app runs `child` instead of the window
