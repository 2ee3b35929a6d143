"""The engine monitor at the right of the window: numbers and curves; may import state, sidebar and below."""
