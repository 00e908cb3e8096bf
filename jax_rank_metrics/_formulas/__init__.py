"""One short function per metric, each over a `Ranking`, one family per file."""
