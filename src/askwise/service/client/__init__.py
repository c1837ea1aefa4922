"""Clients for the service: `Client` waits for answers, `AsyncClient` awaits them."""

from askwise.service.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
