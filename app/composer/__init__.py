"""The lower end of the window: where the user types and attaches, what he waits for, how full the context is."""
