"""Generation: the decode loop, and what an answer is. Imports `speculative` and every engine package below it."""
