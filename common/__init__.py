"""What app, engine and models share. Imports nothing of ours."""
