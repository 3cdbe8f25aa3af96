"""What a study will take: calls, tokens, time, money, and the sizes that an interval needs."""
