"""From a check to a labelled table: what is asked, one label for each text, the file it goes into."""
