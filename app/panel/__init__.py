"""The right of the window: what the engine decides, in numbers and curves."""
