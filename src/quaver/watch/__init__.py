"""A canary: some of a study's prompts, asked again on a schedule, and an alarm where the answers drift."""
