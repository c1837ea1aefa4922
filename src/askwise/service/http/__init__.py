"""From bytes on a socket to a call of the service, and back."""
