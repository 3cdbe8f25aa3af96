"""What the engines in this process share: weights, threads, sampling."""
