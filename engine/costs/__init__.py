"""What a pass costs on this machine."""
