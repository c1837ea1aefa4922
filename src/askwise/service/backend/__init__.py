"""What one process of the server holds behind its HTTP handlers, and how it is doing."""
