"""The window: what the user sees, and the state behind it; may import the engine only by its protocol."""
