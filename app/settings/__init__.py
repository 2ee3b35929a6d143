"""The user's settings, their file, and the requests made from them; imports `events`, `words` and no Qt."""
