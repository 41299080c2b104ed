"""What a child may see of our environment."""

from actors.environment import without_keys


def test_keys_of_model_providers_are_left_out_and_nothing_else() -> None:
    keys = ["OPENAI_API_KEY", "FIDO_API_KEY", "ANTHROPIC_API_KEY", "openai_api_keys", "API_KEY", "X_APIKEY_2"]
    kept = ["PATH", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "MAPI_KEYBOARD", "OPENAI_BASE_URL"]
    assert without_keys(dict.fromkeys(keys + kept, "x")) == dict.fromkeys(kept, "x")
