"""`python -m jax_rank_metrics`: the command line."""

# `from jax_rank_metrics import cli` would load all public names, and JAX with them.
import jax_rank_metrics.cli

if __name__ == "__main__":
    jax_rank_metrics.cli.main()
