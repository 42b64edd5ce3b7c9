"""`holdfast view`: the View in a browser on this machine, through a host page that speaks MCP to the server."""
