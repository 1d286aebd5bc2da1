"""The `openai` client with its aiohttp transport and a semaphore: nothing else."""

import asyncio

import httpx2
from measure import arguments, prompts, report
from openai import AsyncOpenAI, DefaultAioHttpClient

URL, COUNT, CONCURRENCY, _ = arguments()


async def main() -> int:
    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    timeout = httpx2.Timeout(600, connect=60)  # two thousand connections at once take their time
    client = AsyncOpenAI(
        base_url=URL,
        api_key="none",
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(limits=limits, timeout=timeout),
    )
    gate = asyncio.Semaphore(CONCURRENCY)

    async def ask(prompt: str) -> str | None:
        async with gate:
            answer = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": prompt}]
            )
            return answer.choices[0].message.content

    answers = await asyncio.gather(*(ask(prompt) for prompt in prompts(COUNT)))
    await client.close()
    return sum(answer is not None for answer in answers)


report(lambda: asyncio.run(main()))
