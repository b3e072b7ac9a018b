"""An editor drives runs: prompts come in, updates go out."""
