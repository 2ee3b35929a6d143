"""The engine: one model that is loaded, asked and answers, in a process of its own."""
