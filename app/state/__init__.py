"""Open chats, their messages and the engine's state, between store and widgets; imports `store` and below, no Qt."""
