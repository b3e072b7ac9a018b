"""The wire protocol between AWF and plugins: `plugin.proto` and what is generated from it."""
