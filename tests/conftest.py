"""What every test may rely on."""

import signal

# A shell starts background jobs with SIGINT ignored, and what is ignored stays so in every child: the tests
# that send it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
