"""What tests of workflows and of awf itself are built with: in-memory adapters and a small laboratory."""
