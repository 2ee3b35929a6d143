"""The dialogs: settings and storage, one chat's options, models and one model's options. Thin over the state."""
