"""The user's settings: which there are, the file they are kept in, and the requests that come of them. Knows no Qt."""
