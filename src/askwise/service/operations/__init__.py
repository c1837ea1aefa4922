"""The operation of the service: its processes, the demo, and export and import of projects."""
