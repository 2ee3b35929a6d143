"""Define how the window looks: theme, icons, text size, order of Tab; may import services, words and below."""
