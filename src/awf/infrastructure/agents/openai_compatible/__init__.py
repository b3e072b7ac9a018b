"""Any server that speaks OpenAI's chat completions: the loop between model and tools runs in this process."""
