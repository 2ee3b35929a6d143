"""Collections: folders of the user's own, indexed in a process of their own and searched; may import `attachments`."""

# Options with which a packaged app runs one of its programs instead of the window.
INDEX_FILES, SEARCH_INDEX = "--index-files", "--search-index"
INDEX_NAME, VECTORS_NAME = "index.sqlite3", "words.npy"  # files in the index's folder
