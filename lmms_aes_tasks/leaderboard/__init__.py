"""The leaderboard: entries that anyone can recompute, a board of them beside the papers' rows, and a page.

From a run to a row: `build` makes an entry of lmms-eval's files, `verify` recomputes it, `merge` gathers entries into a
board, `compare` and `review` set entries side by side, `exports` and `page` hand the board on. `reading` is the one way
in to what strangers sent. Nothing here knows a benchmark: what is to be known of one is asked of its object, which
`registry` finds and `board.benchmark` describes.
"""
