"""The window's side of the engine: starts the process, asks it, and knows how it stands."""
