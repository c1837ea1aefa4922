"""What runs the service: processes, settings, tokens, logs, metrics, readiness."""
