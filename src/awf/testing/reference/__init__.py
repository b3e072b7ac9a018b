"""The reference pages, made from the types, the catalogue and the commands themselves."""
