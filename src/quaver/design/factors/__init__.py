"""Factor levels: how they edit a prompt, how they are crossed, and edits by hand."""
