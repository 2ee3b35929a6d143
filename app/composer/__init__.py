"""The lower end of the window: composer, attached files and status line; may import dialogs, panel, state and below."""
