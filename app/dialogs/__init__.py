"""Dialogs for settings, storage, one chat's options, and models; may import state, sidebar and below."""
