"""The parts of ``openai_compatible``: requests, replies, pacing and faults."""
