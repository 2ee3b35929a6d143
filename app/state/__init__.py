"""The chats that are open, and what is written of them: between the store and what the user sees. Knows no Qt."""
