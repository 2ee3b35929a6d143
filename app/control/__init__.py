"""Controllers, each doing what the user asks for in one feature; may import all of app except wiring and above."""
