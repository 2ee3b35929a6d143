"""Commands of the window, with menus, keys, palette and help sheet; may import settings, look, services and below."""
