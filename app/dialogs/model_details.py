"""A model's card: origin, licence, facts of its header, template, recommended settings, and what works with it."""

from __future__ import annotations

from app.settings.schema import SETTINGS
from app.words import mark, tr, worded
from common.paths import printable
from common.planning import Verdict
from engine.recommended import recommended_by
from models.catalogue import CatalogueEntry
from models.choices import Choice
from models.collection import LocalModel
from models.facts import Facts
from models.features import can_be_drafted, has_own_kernels
from models.licences import licence_name

Details = tuple[tuple[str, str], ...]  # lines of a card: what, and the text
HUB = "huggingface.co"
SMALL = 1_000_000_000  # weights, from which on most calls of tools are right (docs/notes/tools.md)
# Languages of the catalogue by their ISO 639 codes, in the user's language: fonts for all scripts may be missing.
LANGUAGES = {
    "ar": mark("Arabic"), "bn": mark("Bengali"), "cs": mark("Czech"), "da": mark("Danish"),
    "de": mark("German"), "el": mark("Greek"), "en": mark("English"), "es": mark("Spanish"),
    "fa": mark("Persian"), "fi": mark("Finnish"), "fr": mark("French"), "he": mark("Hebrew"),
    "hi": mark("Hindi"), "hu": mark("Hungarian"), "id": mark("Indonesian"), "it": mark("Italian"),
    "ja": mark("Japanese"), "ko": mark("Korean"), "ms": mark("Malay"), "nl": mark("Dutch"),
    "no": mark("Norwegian"), "pl": mark("Polish"), "pt": mark("Portuguese"), "ro": mark("Romanian"),
    "ru": mark("Russian"), "sv": mark("Swedish"), "th": mark("Thai"), "tr": mark("Turkish"),
    "uk": mark("Ukrainian"), "ur": mark("Urdu"), "vi": mark("Vietnamese"), "zh": mark("Chinese"),
}  # fmt: skip


def language_name(code: str) -> str:
    """Return a language's name; the code of a language that only a newer catalogue knows."""
    return tr(LANGUAGES[code]) if code in LANGUAGES else code


def details_of(choice: Choice, verdict: Verdict | None) -> Details:
    """Return the lines of the card; empty ones are left out."""
    entry, model = choice.entry, choice.model
    facts = model.facts if model else None
    lines = [
        (tr("Origin"), _origin(choice)),
        (tr("File"), printable(str(model.path)) if model else entry.file if entry else ""),
        (tr("Licence"), _licence(entry, facts)),
        (tr("Quality"), tr("{n} of 10 ({source})", n=entry.tier, source=entry.tier_source) if entry else ""),
        (tr("Languages"), ", ".join(sorted(map(language_name, entry.languages))) if entry else ""),
        (tr("Good at"), _strengths(entry) if entry else ""),
        (tr("Model"), _header_words(entry, facts)),
        (tr("Chat template"), _template(facts) if facts else ""),
        (tr("Tools"), _tools(facts) if facts else ""),
        (tr("Recommended settings"), _sampling(entry) if entry else ""),
        (tr("Speculative decoding"), _drafting(entry, facts)),
        (tr("Own drafter"), _own_drafter(model)),
        (tr("Own kernels"), _kernels(facts, verdict)),
    ]
    return tuple((what, text) for what, text in lines if text)


def _origin(choice: Choice) -> str:
    entry = choice.entry
    if choice.model is None or choice.model.location.kind == "own":
        return f"{HUB}/{entry.repo}" if entry else ""
    return ""


def _licence(entry: CatalogueEntry | None, facts: Facts | None) -> str:
    """Return the licence's name and conditions; the full text of a catalogue's model is on its page."""
    name = licence_name(entry.licence if entry else facts.licence if facts else "")
    words = [name] if name else [tr("The file does not say")]
    if entry and entry.licence_note:
        words.append(tr(entry.licence_note))
    if entry:
        words.append(tr("Full text: {address}", address=f"{HUB}/{entry.repo}"))
    return " · ".join(words)


def _strengths(entry: CatalogueEntry) -> str:
    abilities = {
        mark("writing code"): entry.coding,
        mark("thinking first"): entry.thinking,
        mark("pictures (a second file of 0.2 to 1 GB comes along)"): entry.vision,
    }
    return ", ".join(tr(words) for words, has in abilities.items() if has)


def _header_words(entry: CatalogueEntry | None, facts: Facts | None) -> str:
    """Return architecture, size and context: from the file's header, or from the catalogue before it is here."""
    if facts:
        words = [facts.architecture, tr("{n} parameters", n=weights(facts.parameters)), facts.quantisation]
        words.append(tr("vocabulary of {n:,} tokens", n=facts.tokens) if facts.tokens else "")
        trained = facts.n_ctx_train
    elif entry:
        words = [entry.architecture, tr("{n} parameters", n=weights(entry.parameters))]
        if entry.active:
            words.append(tr("{n} of them for each token", n=weights(entry.active)))
        words += [", ".join(entry.quantisations), tr("{n} layers", n=entry.layers)]
        trained = entry.context
    else:
        return ""
    words.append(tr("up to {n:,} tokens of context", n=trained) if trained else "")
    return " · ".join(filter(None, words))


def weights(number: int) -> str:
    """Return a number of parameters as '135M' or '1.5B'."""
    if number >= 10**9:
        return f"{number / 1e9:.1f}B".replace(".0B", "B")
    return f"{number / 1e6:.0f}M"


def _template(facts: Facts) -> str:
    return tr("its own") if facts.has_template else tr("none; ChatML is used")


def _tools(facts: Facts) -> str:
    """Return what to expect of the model in chats where tools are switched on."""
    if facts.parameters < SMALL:
        return tr("It is small: expect many wrong calls.")
    return tr("trained to use them") if facts.tools else tr("It was not trained with tools: expect some wrong calls.")


def _sampling(entry: CatalogueEntry) -> str:
    """Return the settings that its makers recommend, which replace the defaults when it is loaded."""
    values = recommended_by(entry).plain
    return " · ".join(f"{tr(SETTINGS[f'answer.{name}'].title)} {value:g}" for name, value in values.items())


def _drafting(entry: CatalogueEntry | None, facts: Facts | None) -> str:
    architecture = facts.architecture if facts else entry.architecture if entry else ""
    if not architecture:
        return ""
    return tr("yes") if can_be_drafted(architecture) else tr("no: its recurrent layers cannot take back wrong drafts")


def _own_drafter(model: LocalModel | None) -> str:
    """Return whether the model drafts its own next tokens, or why not; empty if no drafter was made for it."""
    sentence = model.facts.own_drafter if model and model.facts else None
    return worded(sentence) if sentence else ""


def _kernels(facts: Facts | None, verdict: Verdict | None) -> str:
    """Return whether our own products compute it; known once the file is here and planned."""
    if facts is None or verdict is None or not verdict.exact:
        return ""
    if has_own_kernels(facts.quantisation, verdict.backend):
        return tr("yes")
    return tr("no: for {quantisation} the library's are used", quantisation=facts.quantisation or "?")
