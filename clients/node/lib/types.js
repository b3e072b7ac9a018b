// Made by `make docs` from src/awf/domain/manifest.py. Do not edit.
export {};
