"""Readers of other programs' chats: a module for each program turns what it stores into an `ImportedConversation`."""
