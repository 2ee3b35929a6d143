"""Who drafts, and whether it pays."""
