"""The configuration of a run, one section per part."""

from pipeline.config.config import Config, load_config, parse_config

__all__ = ["Config", "load_config", "parse_config"]
