"""Parts of the local engines: weights, threads and sampling."""
