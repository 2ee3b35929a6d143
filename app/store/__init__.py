"""The chat database, its search, recovery, import and export; imports `settings`, `attachments` and below, no Qt."""
