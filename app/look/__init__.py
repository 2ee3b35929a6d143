"""What gives the window its looks: theme, icons, text size, order of Tab."""
