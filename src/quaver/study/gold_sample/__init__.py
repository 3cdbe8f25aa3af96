"""A study's gold sample: kept in its folder, drawn, sent to coders, taken back."""
