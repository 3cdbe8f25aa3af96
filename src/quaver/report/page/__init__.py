"""The page: its sections, its evidence, and how the study was done."""
