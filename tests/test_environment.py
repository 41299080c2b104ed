"""What a child may see of our environment."""

from actors.environment import without_keys


def test_keys_of_model_providers_are_left_out_and_nothing_else() -> None:
    keys = ["OPENAI_API_KEY", "FIDO_API_KEY", "ANTHROPIC_API_KEY", "openai_api_keys", "API_KEY", "X_APIKEY_2"]
    kept = ["PATH", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "MAPI_KEYBOARD", "OPENAI_BASE_URL"]
    assert without_keys(dict.fromkeys(keys + kept, "x")) == dict.fromkeys(kept, "x")


def test_a_secret_is_left_out_whatever_its_variable_is_called() -> None:
    environ = {"MY_GATEWAY": "canary-4711", "PROXY": "https://me:canary-4711@host", "PATH": "/bin"}
    assert without_keys(environ, ["canary-4711"]) == {"PATH": "/bin"}


def test_what_a_keyless_server_is_given_as_a_key_takes_no_variable_along() -> None:
    environ = {"PATH": "/opt/ollama/bin", "NO_COLOR": "1"}
    assert without_keys(environ, ["ollama", "1", ""]) == environ
