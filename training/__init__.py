"""Optional: fine-tunes models so that a layer in their middle drafts well. Needs PyTorch, as Chickadee does not."""
