"""The middle of the window: the messages of the open chat, and what can be done with each."""
