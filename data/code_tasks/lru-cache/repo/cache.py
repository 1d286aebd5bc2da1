"""A bounded cache whose values expire."""
