"""A client for the service, waiting or awaiting."""

from askwise.service.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
