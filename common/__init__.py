"""Code that app, engine and models share: failures, files, messages. Imports nothing else of ours."""
