"""Chats as values and what is done with them: messages, branches, options, what the model gets to see. Knows no Qt."""
