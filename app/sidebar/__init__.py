"""The left of the window: the list of chats, what a search found, and what is done with chats there."""
