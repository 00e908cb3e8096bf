"""`python -m jax_rank_metrics`: the command line."""

from jax_rank_metrics import cli

if __name__ == "__main__":
    cli.main()
