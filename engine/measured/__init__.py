"""What this machine has and does: cores, memory, speeds, and how they change while it works. Knows no model."""
