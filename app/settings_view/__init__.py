"""The settings, one chat's options and what is kept, as dialogs: thin over `app.settings`."""
