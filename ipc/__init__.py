"""What two processes must agree on, and nothing else."""
