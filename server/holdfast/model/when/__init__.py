"""The parts of reading time in a question; `holdfast.model.timewords` is the door."""
