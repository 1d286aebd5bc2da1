"""Worlds and domains made by a model, stage by stage, each stage proven by execution before the next begins."""
