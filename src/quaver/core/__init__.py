"""What every stage shares: records, the registry, seeds, checks of arguments and texts, numbers in print."""
