"""The command line for people and scripts, on the same engine as the MCP tools."""
