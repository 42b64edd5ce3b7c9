"""What the View reads that no tool of an agent gives: recent changes, what waits, maps, timelines, reasons."""
