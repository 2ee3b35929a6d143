"""Tools that a model may call in a chat: what they are, where they come from, who may call them. Knows no Qt."""
