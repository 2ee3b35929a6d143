"""Official and popular clients against a running local API: `python drive.py BASE_URL KEY [NAME…]`.

Runs with the packages of requirements.txt, which the project itself does not need; `test_clients.py` starts it. Each
function drives one client and raises if an answer is not what the client's users expect.
"""

# mypy: ignore-errors
# Its packages are installed in an environment of their own.
from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable

ROOT, KEY = sys.argv[1], sys.argv[2]  # the address without /v1
BASE = f"{ROOT}/v1"
QUESTION = [{"role": "user", "content": "Name a bird."}]
GREEDY = {"temperature": 0}
WEATHER = {
    "name": "weather",
    "description": "Tell the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def openai_chat() -> None:
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key=KEY)
    model = client.models.list().data[0].id
    whole = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=12, temperature=0, logprobs=True)
    assert whole.choices[0].message.content
    assert len(whole.choices[0].logprobs.content) == whole.usage.completion_tokens
    chunks = client.chat.completions.create(
        model=model,
        messages=QUESTION,
        max_tokens=12,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    texts, usage = [], None
    for chunk in chunks:
        texts += [choice.delta.content or "" for choice in chunk.choices]
        usage = chunk.usage or usage
    assert "".join(texts) == whole.choices[0].message.content
    assert usage.total_tokens == whole.usage.total_tokens
    assert client.completions.create(model=model, prompt="Once upon a", max_tokens=3).choices[0].text


def openai_tools() -> None:
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key=KEY)
    tools = [{"type": "function", "function": WEATHER}]
    asked = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = client.chat.completions.create(
        model="m", messages=asked, tools=tools, tool_choice="required", max_tokens=80, temperature=0
    ).choices[0]
    assert answer.finish_reason == "tool_calls"
    call = answer.message.tool_calls[0]
    assert call.function.name == "weather"
    asked += [
        answer.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "Rain"},
    ]
    assert client.chat.completions.create(model="m", messages=asked, tools=tools, tool_choice="none", max_tokens=12)


def openai_schema() -> None:
    from openai import OpenAI
    from pydantic import BaseModel

    class Bird(BaseModel):
        legs: bool
        flies: bool

    parsed = OpenAI(base_url=BASE, api_key=KEY).chat.completions.parse(
        model="m", messages=QUESTION, response_format=Bird, max_tokens=60, temperature=0
    )
    assert isinstance(parsed.choices[0].message.parsed, Bird)


def openai_responses() -> None:
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key=KEY)
    whole = client.responses.create(model="m", input="Name a bird.", max_output_tokens=12, temperature=0)
    assert whole.output_text
    with client.responses.stream(model="m", input="Name a bird.", max_output_tokens=12, temperature=0) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert text == whole.output_text


def openai_responses_tools() -> None:
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key=KEY)
    options = {"model": "m", "tools": [{"type": "function", "strict": True, **WEATHER}], "max_output_tokens": 80}
    asked = [{"role": "user", "content": "What is the weather in Paris?"}]
    first = client.responses.create(input=asked, tool_choice="required", temperature=0, store=False, **options)
    call = next(item for item in first.output if item.type == "function_call")
    assert call.name == first.tools[0].name == "weather"
    with client.responses.stream(input=asked, tool_choice="required", temperature=0, store=False, **options) as stream:
        done = [event.arguments for event in stream if event.type == "response.function_call_arguments.done"]
    assert done[0] == call.arguments
    asked += [*first.output, {"type": "function_call_output", "call_id": call.call_id, "output": "Rain"}]
    assert client.responses.create(input=asked, tool_choice="none", store=False, **options).output_text


def openai_responses_schema() -> None:
    from openai import OpenAI
    from pydantic import BaseModel

    class Bird(BaseModel):
        legs: bool
        flies: bool

    client = OpenAI(base_url=BASE, api_key=KEY)
    options = {"model": "m", "input": "Describe a bird.", "text_format": Bird, "max_output_tokens": 60}
    assert isinstance(client.responses.parse(**options).output_parsed, Bird)
    with client.responses.stream(**options) as stream:
        assert isinstance(stream.get_final_response().output_parsed, Bird)


def openai_agents() -> None:
    from agents import Agent, ModelSettings, Runner, function_tool, set_tracing_disabled
    from agents.models.openai_responses import OpenAIResponsesModel
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    asked = []

    @function_tool
    def weather(city: str) -> str:
        """Tell the weather of a city."""
        asked.append(city)
        return "Rain"

    async def ask() -> None:
        model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=BASE, api_key=KEY))
        settings = ModelSettings(max_tokens=900, tool_choice="required", parallel_tool_calls=False, store=False)
        agent = Agent("a", instructions="Be brief.", model=model, tools=[weather], model_settings=settings)
        assert (await Runner.run(agent, "What is the weather in Paris?")).final_output
        streamed = Runner.run_streamed(agent, "What is the weather in Rome?")
        assert [event async for event in streamed.stream_events()]
        assert streamed.final_output

    asyncio.run(ask())
    assert len(asked) >= 2


def openai_embeddings() -> None:
    from openai import OpenAI

    data = OpenAI(base_url=BASE, api_key=KEY).embeddings.create(model="m", input=["a bird", "a car"]).data
    assert len(data) == 2
    assert abs(sum(number**2 for number in data[0].embedding) - 1) < 1e-3


def anthropic_messages() -> None:
    import anthropic

    client = anthropic.Anthropic(base_url=ROOT, api_key=KEY)
    whole = client.messages.create(model="m", max_tokens=12, messages=QUESTION, extra_body=GREEDY)
    with client.messages.stream(model="m", max_tokens=12, messages=QUESTION, extra_body=GREEDY) as stream:
        assert "".join(stream.text_stream) == whole.content[0].text
    tool = {"name": "weather", "description": "Weather of a city.", "input_schema": WEATHER["parameters"]}
    called = client.messages.create(
        model="m", max_tokens=200, messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[tool], tool_choice={"type": "tool", "name": "weather"}, extra_body=GREEDY,
    )  # fmt: skip
    assert called.stop_reason == "tool_use"
    assert isinstance(called.content[-1].input["city"], str)
    assert client.messages.count_tokens(model="m", messages=QUESTION).input_tokens > 0


def litellm_completion() -> None:
    import litellm

    answer = litellm.completion(model="openai/m", api_base=BASE, api_key=KEY, messages=QUESTION, max_tokens=12)
    assert answer.choices[0].message.content
    chunks = litellm.completion(
        model="openai/m", api_base=BASE, api_key=KEY, messages=QUESTION, max_tokens=12, stream=True
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def litellm_responses() -> None:
    import litellm

    options = {"model": "openai/m", "api_base": BASE, "api_key": KEY, "input": "What is the weather in Paris?"}
    options |= {"tools": [{"type": "function", **WEATHER}], "tool_choice": "required", "max_output_tokens": 80}
    whole = litellm.responses(temperature=0, **options)
    assert next(item.name for item in whole.output if item.type == "function_call") == "weather"
    *_, last = litellm.responses(temperature=0, stream=True, **options)
    assert last.response.output


def litellm_echo() -> None:
    import litellm

    answer = litellm.text_completion(
        model="text-completion-openai/m", api_base=BASE, api_key=KEY, prompt="One, two,", max_tokens=2, echo=True,
        logprobs=1,
    ).choices[0]  # fmt: skip
    assert answer.text == "".join(answer.logprobs.tokens)
    assert answer.logprobs.token_logprobs[0] is None


def instructor_model() -> None:
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        yes: bool

    client = instructor.from_openai(OpenAI(base_url=BASE, api_key=KEY), mode=instructor.Mode.JSON_SCHEMA)
    found = client.chat.completions.create(model="m", messages=QUESTION, response_model=Answer, max_tokens=60)
    assert isinstance(found, Answer)
    client = instructor.from_openai(OpenAI(base_url=BASE, api_key=KEY), mode=instructor.Mode.RESPONSES_TOOLS)
    found = client.responses.create(model="m", input="Name a bird.", response_model=Answer, max_output_tokens=60)
    assert isinstance(found, Answer)


def pydantic_ai_agent() -> None:
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=BASE, api_key=KEY))
    answer = asyncio.run(Agent(model, model_settings={"max_tokens": 12}).run("Name a bird."))
    assert answer.output

    class Bird(BaseModel):
        flies: bool

    model = OpenAIResponsesModel("m", provider=OpenAIProvider(base_url=BASE, api_key=KEY))
    answer = asyncio.run(Agent(model, output_type=Bird, model_settings={"max_tokens": 60}).run("Describe a bird."))
    assert isinstance(answer.output, Bird)


def langchain_chat() -> None:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="m", base_url=BASE, api_key=KEY, max_tokens=12)
    assert model.invoke("Name a bird.").content
    assert "".join(str(chunk.content) for chunk in model.stream("Name a bird."))


def langchain_responses() -> None:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Bird(BaseModel):
        """A bird."""

        flies: bool

    model = ChatOpenAI(
        model="m", base_url=BASE, api_key=KEY, max_tokens=60, temperature=0, use_responses_api=True, store=False
    )
    assert model.invoke("Name a bird.").text == "".join(chunk.text for chunk in model.stream("Name a bird."))
    asked = [HumanMessage("What is the weather in Paris?")]
    tools = model.bind_tools([{"type": "function", "function": WEATHER}], tool_choice="weather")
    first = tools.invoke(asked)
    call = first.tool_calls[0]
    assert call["name"] == "weather"
    streamed = [call for chunk in tools.stream(asked) for call in chunk.tool_call_chunks if call["name"]]
    assert streamed[0]["name"] == "weather"
    assert model.invoke([*asked, first, ToolMessage("Rain", tool_call_id=call["id"])]).text
    assert isinstance(model.with_structured_output(Bird).invoke("Describe a bird."), Bird)


def llm_prompt() -> None:
    from llm.default_plugins.openai_models import Chat

    model = Chat("m", key=KEY, api_base=BASE)
    assert model.prompt("Name a bird.", stream=True, max_tokens=12, key=KEY).text()


DRIVERS: tuple[Callable[[], None], ...] = (
    openai_chat, openai_tools, openai_schema, openai_responses, openai_responses_tools, openai_responses_schema,
    openai_agents, openai_embeddings, anthropic_messages,
    litellm_completion, litellm_responses, litellm_echo, instructor_model, pydantic_ai_agent, langchain_chat,
    langchain_responses, llm_prompt,
)  # fmt: skip


def main() -> int:
    """Run the drivers named on the command line, else all; return how many failed."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else litellm asks GitHub for prices
    failed = 0
    for driver in DRIVERS:
        if not sys.argv[3:] or driver.__name__ in sys.argv[3:]:
            try:
                driver()
                sys.stdout.write(f"{driver.__name__} passed\n")
            except Exception:  # noqa: BLE001  # each client is tried, whatever another one does
                failed += 1
                sys.stdout.write(f"{driver.__name__} failed\n{traceback.format_exc(limit=4)}\n")
            sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
