"""Words that find a command or setting in the palette besides its title, such as “trash” for “Recently deleted…”."""

from __future__ import annotations

from app.words import mark, tr

RELATED = {
    "new_chat": mark("start conversation thread"),
    "new_temporary_chat": mark("private incognito secret"),
    "ask": mark("small window mini spotlight"),
    "attach": mark("upload add document picture image photo PDF"),
    "screenshot": mark("capture screen picture image"),
    "read_page": mark("web website internet URL browse"),
    "collections": mark("folders knowledge library RAG search index"),
    "tool_servers": mark("functions plugins agents"),
    "open_model": mark("load GGUF file"),
    "models": mark("download install load change switch language LLM Hugging Face Ollama"),
    "server": mark("remote cloud network GPU OpenAI vLLM Ollama URL address key"),
    "import": mark("move history ChatGPT Claude LM Studio Ollama Jan"),
    "export_chat": mark("save file print PDF Markdown HTML JSON share"),
    "export_all": mark("backup save file PDF Markdown HTML JSON"),
    "storage": mark("disk space size free cache data delete"),
    "local_api": mark("server OpenAI endpoint port other programs HTTP"),
    "settings": mark("preferences options configuration"),
    "quit": mark("exit close end"),
    "find_in_chat": mark("search text words"),
    "find": mark("history messages files"),
    "snippets": mark("templates saved prompts"),
    "copy_answer": mark("clipboard reply response"),
    "copy_code": mark("clipboard program"),
    "stop": mark("cancel abort interrupt"),
    "again": mark("try again retry redo another answer"),
    "think": mark("reasoning thoughts"),
    "use_collections": mark("documents folders knowledge RAG"),
    "use_tools": mark("functions calculator plugins agents web search"),
    "chat_options": mark("system prompt role character temperature sampling"),
    "rename_chat": mark("title name"),
    "sum_up": mark("summary summarise summarize shorten compress context"),
    "pin_chat": mark("favourite favorite star top"),
    "new_folder": mark("project group"),
    "delete_chat": mark("remove trash"),
    "bin": mark("trash restore undelete recover"),
    "sidebar": mark("history list panel hide"),
    "engine": mark("memory RAM speed cache statistics performance"),
    "to_start": mark("top first scroll"),
    "to_end": mark("bottom last scroll"),
    "larger": mark("zoom font size bigger"),
    "smaller": mark("zoom font size"),
    "normal": mark("zoom font reset"),
    "guide": mark("help manual documentation"),
    "help": mark("keys hotkeys bindings"),
    "logs": mark("errors debug report problem"),
    "about": mark("version licence license"),
    "window.theme": mark("dark light night mode colours colors appearance"),
    "window.text_size": mark("zoom font bigger smaller"),
    "models.network": mark("offline internet privacy online"),
}


def related_words(name: str) -> str:
    """Return the words of a command or setting in the user's language and in English."""
    words = RELATED.get(name, "")
    return f"{tr(words)} {words}" if words else ""
