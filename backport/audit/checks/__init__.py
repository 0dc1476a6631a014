"""One module per check; `catalogue` lists them."""
