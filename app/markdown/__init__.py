"""Turn an answer's untrusted markdown into widgets; may import notice, look, services, words and below."""
