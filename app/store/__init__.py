"""The file in which all chats are: schema, search, recovery, import and export. Knows no Qt."""
