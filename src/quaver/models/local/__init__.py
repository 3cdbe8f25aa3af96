"""Parts of the local engines: weights, threads, sampling, llama.cpp's JSON."""
