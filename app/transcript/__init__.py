"""Show the messages of the open chat and what can be done with each; may import composer, dialogs, state and below."""
