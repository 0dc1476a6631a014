"""What a report looks like in each format: pure functions from values to text."""
