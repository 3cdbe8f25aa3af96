"""One call from texts to a verdict: what a table holds, a study file made of it, run and judged."""
