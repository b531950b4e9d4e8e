"""Forms that benchmarks and the leaderboard share; nothing here knows a benchmark by name."""
