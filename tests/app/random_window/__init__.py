"""The window pressed at random: an engine played event by event, a model of what must be kept, and the user's hands."""
