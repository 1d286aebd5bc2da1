"""curator with its litellm backend."""

import os
import tempfile

from measure import arguments, prompts, report

URL, COUNT, CONCURRENCY, _ = arguments()
SCRATCH = tempfile.mkdtemp()
os.environ.update(
    CURATOR_CACHE_DIR=SCRATCH,
    CURATOR_DISABLE_CACHE="1",
    TELEMETRY_ENABLED="0",
    OPENAI_API_KEY="none",
    CURATOR_DISABLE_RICH_DISPLAY="1",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
)

from bespokelabs import curator  # noqa: E402


def main() -> int:
    llm = curator.LLM(
        model_name="openai/m",
        backend="litellm",
        backend_params={
            "base_url": URL,
            "max_concurrent_requests": CONCURRENCY,
            "max_requests_per_minute": 10_000_000,
            "max_tokens_per_minute": 10_000_000_000,
        },
    )
    rows = llm(prompts(COUNT)).dataset
    return sum(text is not None for text in rows["response"])


if __name__ == "__main__":
    report(main)
