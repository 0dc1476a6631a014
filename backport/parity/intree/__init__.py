"""The code of a vLLM tree, run without a GPU and without vLLM's packages."""
