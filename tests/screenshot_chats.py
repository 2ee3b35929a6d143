"""The chats that the screenshots show: ordinary chats, and chats that are hard to lay out."""

from __future__ import annotations

import time

from app.store.chat import Chat, ChatMessage, Speaker
from app.store.chat_store import ChatStore

DAY = 86_400.0
MODEL = "SmolLM2 135M Instruct"
LONG_TITLE = (
    "A very long title of a chat about what to do with the garden in early spring, when it still freezes at night"
)
TRIP = (
    "What should I pack for three days in the mountains in October?",
    """Layers matter most: it can be **20 °C at noon** and freezing at night.

- [x] Two thin wool shirts and one warm pullover
- [x] A rain jacket that keeps the wind out
- [ ] Gloves and a hat, even if the forecast is friendly

For the evenings:

1. A head lamp, because it is dark by six
2. A small book, and something hot to drink

> Take less than you think. Nobody ever wished for a third pair of trousers.""",
    "And how heavy may the backpack be?",
    r"""A common rule is at most a fifth of your own weight, $m \le \frac{1}{5} M$. So with 70 kg:

$$m_{\max} = \frac{70\ \mathrm{kg}}{5} = 14\ \mathrm{kg}$$

For three days **8 to 10 kg** are enough.""",
)
TABLE = (
    "Compare the four cities in a table.",
    """Here they are, with everything you asked for:

| City | Population | Founded | Mean temperature in January | Mean temperature in July | Known for | Public transport |
|:-----|-----------:|:-------:|----------------------------:|-------------------------:|:----------|:-----------------|
| Tallinn | 457,000 | 1219 | −3.4 °C | 17.8 °C | Its old town and the Song Festival | Trams, free for residents |
| Porto | 232,000 | before 136 BC | 9.5 °C | 19.9 °C | Bridges, tiles, port wine | Metro and historic trams |
| Kraków | 804,000 | before 965 | −1.6 °C | 19.6 °C | Wawel castle and the largest market square | Trams and buses |
| Bergen | 291,000 | 1070 | 2.3 °C | 15.1 °C | Rain, fjords, wooden houses of the Hansa | Light rail and buses |

`Porto` is the warmest in winter.""",
)


def code(lines: int) -> str:
    body = "\n".join(
        f"    if reading.value > limits[{n}]:  # sensor {n} is too warm\n"
        f'        warnings.append(f"sensor {n}: {{reading.value:.1f}} °C")'
        for n in range(lines // 2)
    )
    return f"Here is the whole function:\n\n```python\ndef check(reading, limits, warnings):\n{body}\n```\n"


CODE = ("Write a function that checks the sensors.", code(200))


def fill(store: ChatStore) -> dict[str, str]:
    """Store the chats and return their ids by name.

    Times are relative to now, so that every group of days of the chat list appears.
    """
    now = time.time()
    ids = {}
    for name, title, age, turns in (
        ("old", "Bread without kneading", 30 * DAY, ("How?", "Slowly.")),
        ("older", "Names for a small grey cat", 12 * DAY, ("Names?", "Ash, Misty, Pebble.")),
        ("week", "Letter to the landlord about the heating", 4 * DAY, ("Write it.", "Dear Ms Hill, …")),
        ("table", "Four cities compared", DAY, TABLE),
        ("code", "Checking sensors", 0.2 * DAY, CODE),
        ("long", LONG_TITLE, 0.1 * DAY, ("What first?", "Wait until the ground is dry.")),
        ("trip", "Three days in the mountains", 0.0, TRIP),
    ):
        chat = Chat(title=title, created_at=now - age, updated_at=now - age)
        ids[name] = chat.id
        messages: list[ChatMessage] = []
        for number, text in enumerate(turns):
            parent = messages[-1].id if messages else None
            role: Speaker = "assistant" if number % 2 else "user"
            model = MODEL if role == "assistant" else ""
            message = ChatMessage(
                chat.id, parent, role, text, created_at=now - age + number, stop_reason="end", model=model
            )
            messages.append(message)
        store.save(Chat(chat.title, chat.id, chat.created_at, chat.updated_at, messages[-1].id), messages)
    return ids
