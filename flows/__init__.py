"""Prefect flows: thin, one per product, and the nightly chain."""
