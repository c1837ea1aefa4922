"""A client for the service, waiting or awaiting."""
