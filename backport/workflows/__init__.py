"""What a command does, step by step: one module per verb; each returns values, none prints."""
