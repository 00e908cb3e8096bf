"""`python -m jax_rank_metrics`: the command line."""

from jax_rank_metrics.cli import main

if __name__ == "__main__":
    main()
