"""The parts of reading time in a question; `holdfast.model.when.questions` is the door."""
