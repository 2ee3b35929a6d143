"""Which tokens' keys and values are kept, where, and for how long."""
