"""What ``openai_compatible`` is made of: what is sent, what comes back, which faults it outlives."""
