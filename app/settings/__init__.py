"""The settings of all chats and of one: what there is, the file, the dialogs; and what is kept on this computer."""
