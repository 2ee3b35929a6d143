"""All that the window can be asked for, and where it is asked for: menus, keys, palette, help sheet."""
