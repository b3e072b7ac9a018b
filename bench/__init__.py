"""How fast awf is, compared with the least that could be done instead. Run it with `python -m bench`."""
