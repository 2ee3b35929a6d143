from app.immortal import protect

protect()
