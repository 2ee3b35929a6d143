"""Between a chat's words and the model's tokens: templates, turns, thoughts, text."""
