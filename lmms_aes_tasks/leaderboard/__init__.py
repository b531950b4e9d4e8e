"""The leaderboard: entries that anyone can recompute, a board of them beside the papers' rows, and a page.

From a run to a row: `build` makes an entry of lmms-eval's files, `verify` recomputes it, `merge` gathers entries into a
board, `compare` and `review` set entries side by side, `exports` and `page` hand the board on. `schema` has the forms,
`reading` is the one way in to what strangers sent, `benchmarks` has an adapter a benchmark around the very functions
that the harness calls. `published/` holds the papers' own figures, marked as published and never ranked with ours.
"""
