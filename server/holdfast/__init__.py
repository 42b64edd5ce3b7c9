"""Holdfast: long-term memory for AI agents, as one MCP server over markdown files."""

__version__ = "0.1.0"
