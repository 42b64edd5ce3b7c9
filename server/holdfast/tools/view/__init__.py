"""The View: an MCP App with which a person sees what the memory knows, and puts it right."""
