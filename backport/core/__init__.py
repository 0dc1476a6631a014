"""What the tool decides: pure functions over text, standard library only, no I/O."""
