"""Which call may run, and how a person is asked."""
