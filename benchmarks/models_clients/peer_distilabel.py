"""distilabel: a pipeline of one text generation."""

from distilabel.models.llms import OpenAILLM
from distilabel.pipeline import Pipeline
from distilabel.steps import LoadDataFromDicts
from distilabel.steps.tasks import TextGeneration
from measure import arguments, prompts, report

URL, COUNT, CONCURRENCY, _ = arguments()


def main() -> int:
    with Pipeline(name="bench") as pipeline:
        load = LoadDataFromDicts(
            data=[{"instruction": prompt} for prompt in prompts(COUNT)], batch_size=CONCURRENCY
        )
        llm = OpenAILLM(model="m", base_url=URL, api_key="none")
        load >> TextGeneration(llm=llm, input_batch_size=CONCURRENCY)
    rows = pipeline.run(use_cache=False)["default"]["train"]
    return sum(text is not None for text in rows["generation"])


if __name__ == "__main__":
    report(main)
