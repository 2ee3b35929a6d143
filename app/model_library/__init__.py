"""The models' dialog and each model's options, over the room models/."""
