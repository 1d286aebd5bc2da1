"""Differences between JSON values."""

MISSING = object()
