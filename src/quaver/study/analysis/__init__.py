"""A study's annotations, measures, charts and evidence, made from what is stored."""
