"""Tools of real MCP servers, their normalization, and the repository of all tools."""
