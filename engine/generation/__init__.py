"""The decode loop, and what an answer is."""
