"""NeMo Data Designer: one text column."""

import tempfile

import data_designer.config as dd
from data_designer.interface import DataDesigner
from measure import arguments, report

URL, COUNT, CONCURRENCY, _ = arguments()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        provider = dd.ModelProvider(name="bench", endpoint=URL, provider_type="openai", api_key="none")
        designer = DataDesigner(artifact_path=folder, model_providers=[provider])
        parameters = dd.ChatCompletionInferenceParams(max_parallel_requests=CONCURRENCY)
        model = dd.ModelConfig(
            alias="m", model="m", provider="bench", inference_parameters=parameters, skip_health_check=True
        )
        builder = dd.DataDesignerConfigBuilder(model_configs=[model])
        builder.add_column(
            dd.SamplerColumnConfig(
                name="n",
                sampler_type=dd.SamplerType.UNIFORM,
                params=dd.UniformSamplerParams(low=0, high=1e9, decimal_places=0),
            )
        )
        builder.add_column(
            dd.LLMTextColumnConfig(name="text", prompt="Say something about {{ n }}.", model_alias="m")
        )
        rows = designer.create(builder, num_records=COUNT).load_dataset()
        return int(rows["text"].notna().sum())


if __name__ == "__main__":
    report(main)
