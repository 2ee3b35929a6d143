"""The left of the window: the chat list, the search and its hits, and deleted chats; may import store and below."""
