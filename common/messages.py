"""English texts of all sentences that engine, models and window say to the user, by message id (`common.sentences`).

An id is a code for programs, a dot, and which of that code's sentences it is. A hole like `{name}` has the name of the
value that fills it: `{size:bytes}` takes a number of bytes, and any value may be another sentence. A pair of texts is
for n = 1 and for other n.
"""

from __future__ import annotations

MESSAGES: dict[str, str | tuple[str, str]] = {
    # For all parts of the program.
    "plain.text": "{text}",
    "sentences.two": "{first} {second}",
    # Servers of tools (MCP).
    "tool_server.unconfined": (
        "This system cannot confine the server: it could read all your files and send them. Start it only if you trust"
        " it."
    ),
    "tool_server.not_found": "There is no program “{command}”. Install it, or give its whole path.",
    "tool_server.no_start": "The server could not be started: {reason}.",
    "tool_server.closed": "The server has ended. Its log may say why.",
    "tool_server.no_mcp": "The program does not speak the Model Context Protocol: it writes something else.",
    "tool_server.endless": "The server was ended, because it sent more than {most:bytes} without being asked.",
    "tool_server.long_message": "The server was ended, because it sent a message of more than {most:bytes}.",
    "tool_server.unreachable": "There is no connection to the server at this address.",
    "tool_server.slow": "The server gave no answer in time.",
    "tool_server.refuses": "The server says: {reason}",
    "tool_server.not_understood": "The server's answer could not be understood ({reason}).",
    "tool_server.crashed": "The process of the server has ended unexpectedly.",
    "tool_server.stopped": "The server was switched off.",
    "tool_server.gone": "The server does not have the tool “{name}” any more.",
    "tool_server.changed": (
        "The server has changed what it says about the tool “{name}”. Look at it in the settings, and ask again."
    ),
    "tool_server.bad_command": "This is no command: check the quotation marks.",
    "tool_server.bad_entry": "The entry “{name}” has no usable command or address.",
    "tool_server.bad_json": "This is no JSON.",
    "tool_server.no_servers": "There is no server in this JSON.",
    "tool_server.too_many": "There is room for {most:,} servers. Remove one first.",
    "tool_server.unreadable": "The list of tool servers ({file}) cannot be read: {reason}.",
    "tool_server.damaged": "The list of tool servers ({file}) is damaged. The next change renames it; nothing is lost.",
    "tool_server.unwritable": "The list of tool servers ({file}) cannot be stored: {reason}.",
    "tool_server.gave_up": "{reason} It was started {starts} times.",
    # The engine: requests, and the loaded model.
    "empty_prompt.message": "There is nothing to answer: the message is empty.",
    "prompt_too_long.plain": "This text has {tokens:,} tokens, the context holds {n_ctx:,}. Shorten the text.",
    "empty_prompt.text": "There is nothing to embed: a text is empty.",
    "bad_prompt.tokens": "The model has no such tokens: their numbers must lie between 0 and {n_tokens:,}.",
    "bad_constraint.schema": "The JSON schema cannot be used: {reason}.",
    "bad_constraint.grammar": "The grammar cannot be used: {reason}.",
    "bad_constraint.refused": "The schema or grammar cannot be used: {reason}.",
    "bad_constraint.long": "A schema or grammar may have {most:,} characters, and this one has more.",
    "bad_constraint.slow": "The schema or grammar takes more than {seconds:.0f} seconds to prepare. Simplify it.",
    "busy.constraint": "An earlier schema or grammar is still being prepared. Try again in a minute.",
    "bad_constraint.dead_end": "No text fits the grammar, or the grammar is too complex. Simplify it.",
    "bad_constraint.continued": "The answer so far does not fit the schema or grammar.",
    "bad_constraint.with_tools": "A grammar and tools cannot be used together. Use a JSON schema, or no tools.",
    "bad_tools.long": "The tools' parameters may have {most:,} characters in all, and these have more.",
    "bad_tools.parameters": "The parameters of the tool “{name}” cannot be used: {reason}.",
    "no_draft_model.loaded": "No draft model is loaded. Choose one, or another form of speculative decoding.",
    "no_model.loaded": "No model is loaded. Choose a model first.",
    "internal.engine": "Something went wrong inside the engine; the log has the details. Try again.",
    "internal.counting": "The tokens could not be counted.",
    "bad_request.message": "The engine did not understand a message: {reason}.",
    "bad_request.long": "The engine accepts messages of up to {most:bytes}, and this one is longer.",
    "bad_request.long_answer": "The engine sends up to {most:bytes} at once, and this is more. Ask for less.",
    "cancelled.request": "Stopped.",
    "out_of_memory.text": (
        "There is not enough free memory for a text of {tokens:,} tokens. Send shorter texts, or close other programs."
    ),
    "out_of_memory.computer": "The computer's memory is full. Close other programs or load a smaller model.",
    "template.empty": "The model's chat template produces nothing for this chat. Choose another model.",
    "template.unknown_tokens": "The model's vocabulary has no tokens for this chat. Choose another model.",
    "template.pictures": "The model's chat template leaves pictures out. Remove them, or choose another model.",
    "no_infill.model": ("This model was not trained to write the middle of a text. Models such as Qwen2.5-Coder are."),
    "no_vision.model": "This model cannot see. Remove the pictures, or choose a model that can.",
    "no_screenshot.portal": "The desktop took no screenshot. Allow it in the system's privacy settings.",
    # Dictation: the microphone, and the recognition of speech.
    "dictation.no_microphone": "No microphone was found. Connect one, or look into the system's sound settings.",
    "dictation.unknown_microphone": "No microphone has “{name}” in its name. There are: {names}.",
    "dictation.refused": (
        "The microphone could not be opened. Allow Chickadee to use it in the system's privacy settings, or close the"
        " program that uses it."
    ),
    "dictation.lost": "The microphone stopped. See whether it is still connected.",
    "dictation.silence": (
        "Nothing was heard. The microphone may be muted, or the system may not allow Chickadee to use it."
    ),
    "dictation.no_words": "No words were recognised. Speak closer to the microphone, or choose another one.",
    "dictation.damaged": "The speech model {name} is damaged. Download it again.",
    "dictation.unreadable": "The speech model cannot be read: {reason}.",
    "dictation.memory": (
        "Dictation takes {needed:bytes} of memory, and {free:bytes} are free. Close other programs, or choose a smaller"
        " speech model in the settings."
    ),
    "dictation.processor": "This processor has no {features}, which dictation needs.",
    "dictation.recorder": "The program that records ended before its time. Try again.",
    "dictation.recogniser": "The program that recognises speech ended before its time. Try again.",
    "no_vision.library": "This llama.cpp was built without support for pictures. Run `make setup` again.",
    "bad_picture.missing": "A picture's file is missing. Remove the picture, and add it again.",
    "bad_picture.damaged": "A picture's file is damaged. Remove the picture, and add it again.",
    "bad_picture.refused": "The model cannot use this picture. Remove it, or try a smaller one.",
    "bad_picture.encoder": "The model failed to read this picture. Remove it, or try a smaller one.",
    "bad_picture.batch": (
        "The picture is too large for the little memory that the model was loaded with. Try a smaller one, or load the"
        " model with more memory."
    ),
    "out_of_memory.projector": (
        "Pictures need {size:bytes} of memory for {name}, which are not free. Close other programs, or ask without"
        " pictures."
    ),
    "template.endless": "The model's chat template takes too much time or memory. Choose another model.",
    "template.refuses": (
        "The model's chat template does not accept these messages: {reason}. Change them, or choose another model."
    ),
    "nothing_to_continue.no_answer": "There is no answer to continue: send a message first.",
    "template.missing": "The model has no chat template of its own; ChatML is used.",
    "template.damaged": "The model's chat template is damaged ({reason}); ChatML is used.",
    "template.limits": "it takes too much time or memory",
    "template.no_question": "it leaves out the question",
    "prompt_too_long.chat": "This chat needs {needed} tokens, the context holds {n_ctx:,}. {first} {other}",
    "prompt_too_long.messages": (
        "The messages need {needed} tokens, the context holds {n_ctx:,}. Leave out the oldest ones, or shorten them."
    ),
    "turns.tokens": "{tokens:,}",
    "turns.more_than": "more than {tokens:,}",
    "turns.leave_out": (
        "Leave out the oldest turn,",
        "Leave out the oldest {n} turns,",
    ),
    "turns.shorten": "Shorten the message,",
    "turns.larger_context": "start a new chat, or load the model with a context of {n_ctx:,} tokens.",
    "turns.larger_8_bit": (
        "start a new chat, or load the model with a context of {n_ctx:,} tokens and an 8-bit KV cache."
    ),
    "turns.no_memory": "or start a new chat; a context large enough would not fit into memory.",
    "turns.not_trained": "or start a new chat; the model was not trained for a larger context.",
    # The local API.
    "api.needs_key": ("Other computers could reach {host}, so the API needs a key: add --key, or listen at 127.0.0.1."),
    "api.on_server": "The model is on {host}. Other programs can ask models of this computer only.",
    "api.bad_key": (
        "The API key may have only ASCII letters, digits and punctuation, without spaces or line breaks: programs "
        "cannot send other ones."
    ),
    "api.bad_port": "A port is a number from 0 to 65535, not {port}.",
    "api.no_address": "The API cannot listen at {address}: {reason}.",
    # The engine: loading, and the memory plan.
    "out_of_memory.plan": "{reasons}",
    "planner.not_understood": "The planner did not understand a question: {reason}.",
    "planner.no_model": "A request to the planner must name a model file or an estimate.",
    "planner.ended": "Could not determine whether it fits: the planner ended early.",
    "out_of_memory.no_process": "{name} was not loaded: the system could not start another process.",
    "bad_model.unending_header": "{name} cannot be used: {library} cannot read its header to the end.",
    "bad_model.filling_header": "{name} cannot be used: its header alone would fill the memory of this computer.",
    "slow_check.of_model": "Checking {name} takes too long: the file may be damaged. Load it to check it completely.",
    "out_of_memory.while_checking": (
        "The system stopped the process that was checking {name}, most likely because memory ran out."
    ),
    "bad_model.crashes": (
        "{name} makes {library} crash: it is damaged or made for another version. Choose another model."
    ),
    "no_backend.ik": "ik_llama.cpp is not installed: there is no build of it for this computer.",
    "no_backend.packaged": "llama.cpp is missing from this installation. Install Chickadee again.",
    "no_backend.llama": "llama.cpp has not been compiled yet: `make setup` does that.",
    "no_backend.for_model": (
        "This model needs llama.cpp, which has not been compiled yet: `make setup` does that. {reason}"
    ),
    "choice.sees": "llama.cpp computes it, because ik_llama.cpp cannot show pictures to a model.",
    "choice.not_ready": "ik_llama.cpp is used until llama.cpp has been compiled.",
    "choice.crashed": "ik_llama.cpp crashed with this model, so llama.cpp is used.",
    "choice.llama_crashed": "llama.cpp crashed with this model, so ik_llama.cpp is used.",
    "choice.not_timed": (
        "llama.cpp is expected to be faster with this model. Both libraries are timed while the computer is idle."
    ),
    "choice.slower": "llama.cpp is used for this model: ik_llama.cpp is not faster on this computer.",
    # The engine: graphics processors and other devices that compute beside the processor.
    "device.none": "The processor computes: no graphics processor, or no Vulkan driver for one, was found.",
    "device.off": "The processor computes, as chosen.",
    "device.software": "The processor computes: {device} is the processor itself, so it would be slower.",
    "device.not_found": "The processor computes: no graphics processor has “{name}” in its name.",
    "device.no_room": "The processor computes: {device} would need {size:bytes} more memory than is available.",
    "device.not_timed": "The processor computes until {device} was timed, which happens while the computer is idle.",
    "device.slower": (
        "The processor computes: {device} is not faster (prompts {reads} against {read}, writing {writes} against"
        " {wrote})."
    ),
    "device.battery": (
        "The processor computes on battery: {device} is faster, but takes more energy (prompts {reads} against {read},"
        " writing {writes} against {wrote})."
    ),
    "device.prompts": "Prompts: {device}, {reads} against {read}; writing: processor.",
    "device.all": "Prompts: {device}, {reads} against {read}; writing: the same, {writes} against {wrote}.",
    "device.some": (
        "{layers:,} of {of:,} layers: {device}; prompts {reads} against {read}, writing {writes} against {wrote}."
    ),
    "device.untimed_prompts": "Prompts: {device}, which was not timed yet; writing: processor.",
    "device.untimed_layers": "{layers:,} of {of:,} layers: {device}, which was not timed yet.",
    "device.library": "The processor computes: only llama.cpp can use a graphics processor, not {library}.",
    "device.no_shapes": "The processor computes: it is not known how large the layers of this model are.",
    "device.gone": "The processor computes: {device} is not there any more.",
    "device.not_checked": (
        "The processor computes: {device} could not be compared with it: it is gone, or memory is short."
    ),
    "device.unknown": "A graphics processor",
    "device.wrong_numbers": "{device} is not used, because it computes wrong numbers. A new driver is tried again.",
    "device.hung": "{device} is not used, because its driver did not answer. A new driver is tried again.",
    "device.crashed": "{device} is not used, because its driver crashed. A new driver is tried again.",
    "bad_option.kv_type": "{name} cannot store its KV cache as {kv_type}.",
    "plan.needs": "{model} needs up to {size:bytes} with a context of {n_ctx:,} tokens; {room}.",
    "plan.pair": "{name} with {draft}",
    "plan.too_much": "{name} needs {size:bytes} with a context of {n_ctx:,} tokens, {missing:bytes} too much: {room}.",
    "plan.from_disk": (
        "{name} needs {size:bytes} with a context of {n_ctx:,} tokens; {room}. So its weights stay on the disk and are "
        "read from there again and again."
    ),
    "unit.speed": "{rate} tok/s",
    "unit.seconds": "{time} s",
    "unit.minutes": "{time} min",
    "unit.minutes_seconds": "{minutes} min {seconds} s",
    "unit.hours": "{time} h",
    "from_disk.slow": (
        "{name} is larger than the free memory, so its weights are read from the disk again for every word: expect "
        "about {speed}. A smaller model is better here."
    ),
    "from_disk.expected": (
        "{name} is larger than the free memory, so weights are read from the disk all the time: expect about {speed}."
    ),
    "plan.budget": "{usable:bytes} of the budget of {limit:bytes} is available",
    "plan.available": "{usable:bytes} is available, {reserve:bytes} left for other programs",
    "plan.read_once": "To save memory, the weights are read into memory once instead of twice; loading takes longer.",
    "plan.not_repacked": "To save memory, the weights are not repacked for this processor: answers are 1.2× slower.",
    "plan.small_batch": "To save memory, prompts are read {tokens} tokens at a time, which is a little slower.",
    "plan.own_layers": "The model brings layers that draft its next tokens; they are loaded with it.",
    "plan.no_own_layers": "To save memory, the layers that the model brings to draft its next tokens are left out.",
    "own_drafter.none": "This model brings no layers that draft its next tokens: tokens are drafted from the chat.",
    "own_drafter.included": "The model includes its own drafter: layers that draft its next tokens.",
    "own_drafter.left_out": (
        "The model was made with layers that draft its next tokens, but this file leaves them out: tokens are "
        "drafted from the chat."
    ),
    "own_drafter.unknown": (
        "The model brings layers that draft its next tokens, but this version of llama.cpp cannot use those of "
        "{architecture}: tokens are drafted from the chat."
    ),
    "own_drafter.library": (
        "The model brings layers that draft its next tokens, but only llama.cpp can use them, not {library}: "
        "tokens are drafted from the chat."
    ),
    "own_drafter.not_loaded": (
        "The layers that the model brings to draft its next tokens could not be loaded: tokens are drafted from "
        "the chat."
    ),
    "plan.no_rollback": (
        "To save memory, speculative decoding is off for this model, so text that repeats is written more slowly."
    ),
    "plan.q8_0": "To save memory, the KV cache is stored as q8_0, half the size of f16 and nearly as exact.",
    "plan.short_context": "Memory is short: the context is only {n_ctx:,} tokens.",
    "plan.trained": "The model was trained for {n_ctx:,} tokens of context; more than that is not used.",
    "plan.held_twice": (
        "{size:bytes} of the weights are held twice, as in the file and repacked for this processor: 1.2× faster."
    ),
    "plan.more_context": "The model can use {trained:,} tokens of context; up to {fitting:,} tokens would fit.",
    "plan.no_more_context": "The model can use {trained:,} tokens of context; no more fits.",
    "plan.grows": "The KV cache starts small and grows with the chat; the numbers are for a full context.",
    "plan.device": "Of the memory of {device}, {size:bytes} are taken.",
    "plan.without_draft": (
        "The draft model {name} was not loaded: with it, {size:bytes} would be needed for a context of {n_ctx:,} "
        "tokens."
    ),
    "plan.large_draft": (
        "The draft model {name} is no smaller than the model it drafts for, so it is unlikely to make answers faster."
    ),
    "plan.projector": (
        "Of this, {size:bytes} are for pictures; they are taken when the first one is read. A picture of 1,024 × 768"
        " pixels takes about {tokens:,} tokens of the context."
    ),
    "plan.kept_chats": "Up to {size:bytes} keep other chats ready, so that going back to one does not read it again.",
    "plan.projector_no_room": "The model can see, but pictures need {size:bytes} more memory than is available.",
    "plan.would_fit": "It would fit with the KV cache stored as {kv_type}.",
    "plan.context_would_fit": "A context of up to {n_ctx:,} tokens would fit (KV cache {kv_type}).",
    "plan.no_context": "No context would fit: even the smallest needs {size:bytes}. Choose a smaller model.",
    "bad_option.kv_mode": "Only the built-in engine supports --kv {mode}, not {backend}.",
    "cannot_draft.keeps_tokens": (
        "{name} cannot remove tokens from its cache, so speculative decoding is not available with it."
    ),
    "not_supported.model": "{reason}",
    "bad_option.processor": "{variable}={name} is not known: choose one of {known}.",
    "planner.no_answer": "Could not determine whether it fits; the log has the details.",
    # The engine: what computes.
    "out_of_memory.context": "There is not enough free memory for a context of {n_ctx:,} tokens. Try a smaller one.",
    "not_a_chat_model.encoder": "{name} is not a chat model: it translates text to text only.",
    "not_a_chat_model.adapter": "{name} is an adapter (LoRA), an addition to a model. Choose the model itself.",
    "not_a_projector.other_file": "{name} is no projector for pictures. Its file name begins with mmproj.",
    "bad_projector.width": "{name} belongs to another model than {model}. Download the projector of this model.",
    "bad_projector.senseless": (
        "{name} is damaged: what its header says about “{key}” makes no sense. Download it again."
    ),
    "bad_projector.not_accepted": "llama.cpp does not accept the projector {name}. Download it again, or a newer one.",
    "not_a_chat_model.image": "{name} is the part of a model that reads pictures. Choose the model itself.",
    "not_a_chat_model.embedding": (
        "{name} is an embedding model: it compares texts and cannot answer. Choose a chat model."
    ),
    "unknown_architecture.of_model": (
        "{name} has the architecture “{architecture}”, which this version of {library} does not support yet."
    ),
    "unknown_architecture.tokenizer": (
        "{name} needs the tokenizer “{tokenizer}”, which this version of {library} does not support yet."
    ),
    "bad_model.lacks_key": "{name} was not converted completely: its header lacks “{key}”. Choose another file.",
    "bad_model.other_tensors": (
        "{name} is damaged or made for another version of {library}: its weights “{tensor}” are missing or have another"
        " size. Choose another file."
    ),
    "bad_model.incomplete": "{name} is incomplete: part of the model is missing. Download it again.",
    "out_of_memory.model": "There is not enough free memory to load {name}. Try a smaller model.",
    "bad_model.not_accepted": "{name} could not be loaded: {library} does not accept the file.",
    "cache_unwritable.file": "The cached context could not be written to {file}: {reason}.",
    "cache_unusable.other_model": "The cached context {file} does not match this model.",
    "bad_model.missing_tokens": (
        "The model's vocabulary is damaged: it has no token for some of the characters. Download the model again."
    ),
    "bad_option.flash_attention": (
        "A KV cache stored as {kv_type} needs flash attention: leave it on, or store the cache as f16."
    ),
    "bad_model.contradiction": "The model file contradicts itself, so it cannot be loaded.",
    "bad_model.uneven_heads": "{name} has keys and values of sizes that do not match.",
    "bad_model.not_stated": "{name} does not state its {key}, so it cannot be loaded.",
    "bad_model.impossible": "{name} has an impossible {key}: {value}.",
    "graph.cannot_run": "The built-in engine cannot run this model: {reason}. llama.cpp can.",
    "graph.architecture": "it does not know the architecture “{architecture}”",
    "graph.weights": "it knows no weights called “{name}”",
    "graph.experts": "it knows no mixture of experts",
    "graph.quantisation": "it does not know how its weights are quantised",
    "graph.norms": "its norms or biases are quantised",
    "graph.positions": "it does not know the scaling “{scaling}” of positions",
    "bad_model.no_embedding": "{name} is not an embedding model. Choose an embedding model.",
    "bad_model.out_of_reach": "The engine may not read {name}. Move it to a models folder.",
    "bad_model.no_numbers": "The model computes no valid numbers: its file is damaged. Download the model again.",
    "out_of_memory.weights": "There is not enough free memory for {name}.",
    "ranking_unwritable.folder": "The head ranking cannot be saved to {folder}: {reason}.",
    "no_ranking.of_model": (
        "The attention heads of {name} have not been ranked yet. Rank them with "
        "benchmarks.rank_heads --kv {mode} --model {path} in Chickadee's source code."
    ),
    "not_supported.without_flash_attention": (
        "The built-in engine needs flash attention: leave it on, or choose llama.cpp."
    ),
    "lossy.measured": "Lossy: {share:.0%} of the heads are compressed ({mode}); measured perplexity × {ratio:.3f}.",
    "lossy.unmeasured": (
        "Lossy: {share:.0%} of the heads are compressed ({mode}); the effect on quality was not measured."
    ),
    "cache_unusable.other_heads": "The cached context {file} does not match this model and its head compression.",
    "ik.processor": "ik_llama.cpp needs a processor with {features}.",
    "ik.architecture": "ik_llama.cpp does not support the architecture “{architecture}” yet.",
    "ik.kv_type": "ik_llama.cpp cannot store this model's KV cache as {kv_type}.",
    "ik.crashed": "ik_llama.cpp crashed with it.",
    "ik.quantisation": "ik_llama.cpp does not support the quantisation of this file.",
    "no_kernels.for_processor": (
        "This llama.cpp has no kernels of its own for {processor}: {variable} is for the packaged one."
    ),
    "no_kernels.damaged": "The engine's files are damaged: none of its kernels can be loaded. Install Chickadee again.",
    "not_quantised.by_llama": "llama.cpp could not quantise {name}. Check that there is enough disk space.",
    # The engine: cached contexts, measuring, drafting.
    "context_too_small.to_calibrate": "A context of {n_ctx:,} tokens is too small to calibrate.",
    "disturbed.by_programs": "This model's speed could not be measured because another program was busy.",
    "cache_unwritable.folder": "Contexts cannot be cached on the disk: {folder} cannot be written ({reason}).",
    "cache_unusable.damaged": "The cached context {file} is damaged.",
    "cache_unusable.tokens": "The tokens of a cached context do not match its record.",
    "cache_full.one_chat": "This chat's context of {size:bytes} exceeds the space for cached context.",
    "cache_full.disk": "The disk is nearly full: contexts are no longer cached on it.",
    "unwritable.results": "The results cannot be saved to {folder}: {reason}.",
    "no_such_layer.of_model": (
        "{count} layers cannot draft: this model has {layers} in all, and 1 to {most} of them can."
    ),
    "no_early_exit.other_library": "Early layers can draft only when the model runs on the built-in engine. {how}",
    "no_early_exit.choose_graph": (
        "Choose the built-in engine (--backend graph), or another form of speculative decoding."
    ),
    "no_early_exit.whole_heads": (
        "Early layers can draft only in a model with at least two layers whose heads keep every token. Turn off head "
        "compression, or choose another form of speculative decoding."
    ),
    "unwritable.phrases": "The table of common phrases cannot be saved: {reason}.",
    "no_such_file.phrases": "The common phrases are missing from this installation. Install Chickadee again.",
    "no_such_file.phrases_damaged": "The common phrases in this installation are damaged. Install Chickadee again.",
    # Models: files, vocabularies, folders.
    "no_such_file.or_folder": "There is no file or folder {path}. It may have been moved or renamed.",
    "not_a_model.other_file": "{name} is not a GGUF model file. Choose a file that ends in .gguf.",
    "too_many.added": "{count} folders and files are already in the list. Remove some first.",
    "unwritable.folders": "The list of model folders cannot be saved: {file} cannot be written ({reason}).",
    "no_such_file.catalogue": "The catalogue of models is missing from this installation. Install Chickadee again.",
    "bad_catalogue.here": (
        "The catalogue that was fetched is damaged, so the one that came with Chickadee is used. Check for new models "
        "again."
    ),
    "refused.catalogue": "The catalogue of models on {host} has errors, so the one on this computer is kept.",
    "unwritable.catalogue": "The new catalogue cannot be saved: {path} cannot be written ({reason}).",
    "other_kind.arrived": (
        "{title} has arrived, but its file is of the kind “{found}”; the catalogue says “{stated}”. Memory and speed "
        "may differ from what was predicted."
    ),
    "unreadable.file": "{name} cannot be read: {reason}.",
    "unusable.no_file": "{name} is not a file.",
    "unusable.gone": "{name} points to a file that no longer exists.",
    "unusable.incomplete": (
        "{name} is incomplete: part {numbers} of {of} is missing. Download the model again.",
        "{name} is incomplete: parts {numbers} of {of} are missing. Download the model again.",
    ),
    "unusable.and_more": "{numbers} and more",
    "bad_model.added": "{problem}",
    "no_such_file.built_in": "The built-in model is missing from this installation. Install Chickadee again.",
    "kind.base": "It has no chat template, so it continues texts rather than answering.",
    "kind.base_ollama": (
        "Its file has no chat template, and Ollama's own form of one is not read, so it may continue texts rather than "
        "answering. Download the model here."
    ),
    "kind.diffusion": "It is a diffusion model, which writes all words at once. That is not supported yet.",
    "kind.drafter": "It only drafts for another model, and cannot answer. Choose that model.",
    "kind.speech": "It is part of a model that speaks, and cannot write answers.",
    "kind.embedding": "It is an embedding model: it compares texts and cannot answer.",
    "kind.adapter": "It is an adapter (LoRA), an addition to a model. Choose the model itself.",
    "kind.image": "It is the part of a model that reads pictures. Choose the model itself.",
    "kind.vocabulary": "It contains only a vocabulary, no model.",
    "kind.encoder": "It translates text to text only and cannot chat.",
    "not_a_chat_model.kind": "{name}: {kind}",
    "bad_model.large_header": "{name} cannot be used: its header is larger than any model's. Download it again.",
    "bad_model.header": "{name} is damaged or incomplete: its header cannot be read. Download it again.",
    "not_a_model.folder": "{path} is a folder. Choose a model file; its name ends in .gguf.",
    "not_a_model.no_file": "{path} is not a file. Choose a model file; its name ends in .gguf.",
    "no_such_file.model": "There is no file {path}. It may have been moved or renamed.",
    "bad_model.version": "{name} has GGUF version {version}; versions 2 and 3 can be read.",
    "bad_model.long": "{name} is damaged: the file continues after the end of the model. Download it again.",
    "not_ours.in_added": "{name} is in the folder {folder}, which was added. Remove that folder from the list instead.",
    "not_ours.elsewhere": "{name} is not in a folder of {own}, so it was not removed.",
    "unwritable.removal": "{name} cannot be removed: {reason}.",
    "unwritable.undo": "{name} cannot be brought back: {reason}. Try again.",
    "busy.removal": "{name} is still being downloaded. Cancel its download first.",
    "not_ours.removal": "{name} cannot be removed here. {reason}",
    "owner.lm_studio": "It belongs to LM Studio. Delete it there.",
    "owner.hub": "It is in the Hugging Face cache, which other programs use. Delete it there.",
    "owner.llama_cpp": "It is in llama.cpp's cache. Delete it there.",
    "owner.chickadee": "It is part of Chickadee and cannot be deleted.",
    "owner.ollama": "It belongs to Ollama. Delete it there with `ollama rm {name}`.",
    "same_model.drafts": "{name} cannot draft for itself. Choose a smaller model to draft.",
    "other_vocabulary.of_pair": (
        "{drafter} has a different vocabulary from {target}: {difference}. Choose a draft model of the same family."
    ),
    "vocabulary.kind": "its kind is {other}, not {own}",
    "vocabulary.beginning": "the text's beginning is token {other}, not {own}",
    "vocabulary.end": "the text's end is token {other}, not {own}",
    "vocabulary.turn_end": "the turn's end is token {other}, not {own}",
    "vocabulary.token": "token {token} is “{other}”, not “{own}”",
    "vocabulary.token_kind": "token {token}, “{text}”, is of another kind",
    "vocabulary.missing": "token {token}, “{text}”, is missing",
    "vocabulary.added": "token {token}, “{text}”, is added",
    "bad_model.shapes": "{name} does not say what the model looks like: “{key}” is missing or invalid.",
    "bad_model.split_names": "{name} is one of {count} files of a model. Restore their original names.",
    "bad_model.split_blobs": (
        "{name} is split into {count} files, which Ollama keeps under names of its own. Only Ollama can load it so. "
        "Download the model here."
    ),
    "bad_model.joined": (
        "{name} is {count} files of a model, one behind the other, and cannot be loaded like this. Put the files into "
        "one folder under their original names, and open the first."
    ),
    "bad_model.not_first": "{name} is not the model's first file. Choose {first}.",
    "bad_model.no_vocabulary": "{name} contains no vocabulary.",
    "unreadable.vocabulary": "The vocabulary of {name} cannot be read.",
    "not_a_chat_model.no_vocabulary": "{name} has no vocabulary: it knows numbers of tokens only, so it cannot chat.",
    "bad_model.senseless": "{name} is damaged: what its header says about “{key}” makes no sense. Download it again.",
    # Models: the hub and downloads.
    "exists.other_file": "There is another file named {name} in {folder}. Remove it first.",
    "no_connection.closed": "{host} closed the connection too early.",
    "no_connection.part_kept": "{problem} The part already downloaded is kept.",
    "wrong_bytes.more": "{name} was not saved: more arrived than was announced. Download it again.",
    "wrong_bytes.size": (
        "{name} was not saved: {offered:,} bytes are offered where {published:,} were announced. Download it again."
    ),
    "wrong_bytes.no_model": (
        "{name} was not saved: what {host} sent is no model file. If this network wants you to sign in first, do so in "
        "a browser; then download it again."
    ),
    "wrong_bytes.packed": (
        "{name} was not saved: {host} sent the rest compressed, which was not asked for. The part already downloaded "
        "is kept. Resume it later, or over another network."
    ),
    "wrong_bytes.other": (
        "{name} was not saved: the bytes that arrived are not those that were published. Download it again."
    ),
    "refused.file_name": "The file's name “{name}” cannot be used on this computer.",
    "internal.download": "Something went wrong; the log has the details.",
    "bad_option.empty_search": "Type what to search for, for example: qwen 1.5b instruct.",
    "not_found.no_model": "{repo} contains no GGUF model that can be downloaded.",
    "not_found.no_file": "{repo} has no file {file}. It has {listed}.",
    "refused.endless": "The response from {host} does not end.",
    "refused.not_understood": "{host} sent a response that Chickadee does not understand. Try again later.",
    "bad_option.repo": "“{repo}” is not a model on Hugging Face: write it like Qwen/Qwen3-4B-GGUF.",
    "refused.redirect": "{host} leads to an address that is not safe: {address}.",
    "refused.redirects": "{host} redirects without end.",
    "refused.not_https": "There is no safe connection to {address}: its address must begin with https://.",
    "refused.certificate": (
        "The connection to {host} is not safe: its certificate cannot be trusted. Check this computer's clock."
    ),
    "no_connection.no_answer": "{host} does not respond. Try again later.",
    "no_connection.offline": "There is no connection to {host}. Check that this computer is online.",
    "no_connection.proxy": "The proxy {proxy} does not connect to {host}. Check this computer's proxy settings.",
    "refused.redirected": "{host} leads to {other}, which refuses the file (error {status}). Try again later.",
    "refused.account": "{host} requires an account and a licence for this file (error {status}).",
    "not_found.status": "{host} has no such model or file (error {status}). It may have been renamed.",
    "no_connection.too_many": "{host} received too many requests (error 429). Try again in a few minutes.",
    "no_connection.status": "{host} has a problem (error {status}). Try again later.",
    "refused.status": "{host} refused the request (error {status}).",
    "offline.variable": "Connections are turned off: {variable} is set.",
    "offline.settings": "Connections are turned off in the settings (network in {file}).",
    "offline.unreadable": "{file} cannot be read ({reason}), and it may forbid connections. Correct it first.",
    "unwritable.download": "{name} cannot be saved in {folder}: {reason}.",
    "busy.download": "{name} is being downloaded by another window or terminal.",
    "disk_full.download": "The disk is full. Free some space, then resume {name}: the part already downloaded is kept.",
    "disk_full.no_room": (
        "There is not enough disk space for {name}: {size:bytes} still to download. Free {short:bytes}."
    ),
    "disk_full.no_room_to_copy": (
        "There is not enough disk space for {name}: {size:bytes} to copy. Free {short:bytes}."
    ),
    "disk_full.copied": "The disk is full, so {name} was not copied. Free some space.",
    "unwritable.copy": "{name} cannot be copied to {folder}: {reason}.",
    # Models on servers.
    "bad_option.server": (
        "“{address}” is not the address of a server: write it like http://gpu.lan:8000/v1 or https://api.example.com/v1."
    ),
    "bad_option.server_parts": (
        "The address of {address} contains a password or a question mark. Remove them; the key has its own field."
    ),
    "bad_option.server_key": "This is not a key: it has spaces, line breaks or letters that a key cannot have.",
    "no_connection.server_name": (
        "There is no server called {host}. Check the address, and that this computer is online."
    ),
    "no_connection.server_refused": "Nothing answers at {host}. Check the address, and that the server is running.",
    "no_connection.server_silent": "{host} does not respond. Try again later.",
    "no_connection.server_unreachable": "{host} cannot be reached. Check that this computer is online.",
    "no_connection.server_cut": "The connection to {host} broke off.",
    "no_connection.server_broke": "{host} stopped answering because of an error of its own.",
    "no_connection.server_busy": (
        "{host} received too many requests, or your account there is used up (error 429). Try again later."
    ),
    "no_connection.server_busy_until": (
        "{host} has too many requests (error 429). Try again in {n} second.",
        "{host} received too many requests (error 429). Try again in {n} seconds.",
    ),
    "no_connection.server_loading": "{host} is still loading the model. Try again in a minute.",
    "no_connection.server_problem": "{host} has a problem (error {status}). Try again later.",
    "refused.server_certificate": "The connection to {host} is not safe: {reason}.",
    "refused.server_no_tls": (
        "{host} accepts no safe connection here. If it has none, its address begins with http://, not https://."
    ),
    "refused.server_nonsense": "What {host} sent is no answer of a model server. Check the address.",
    "refused.server_too_much": "{host} sent far more than an answer can be, so the connection was closed.",
    "refused.server_redirect": (
        "{host} redirects this request to {address}. Chickadee connects only to the server that you named."
    ),
    "refused.server_key": "{host} does not accept the key (error {status}). Check the key.",
    "refused.server_needs_key": "{host} requires a key (error {status}).",
    "refused.server_request": "{host} refused the request (error {status}): {reason}.",
    # Web pages that the user asks for.
    "refused.page_address": "“{address}” is no address of a web page.",
    "refused.page_private": (
        "{host} leads into your own network, to {address}. Such an address is read only if you enter it yourself."
    ),
    "refused.page_kind": "{host} sent {kind}. Only web pages, texts and PDF files can be read.",
    "refused.page_large": "The page at {host} is larger than {most:bytes}. Save a part of it, and attach that.",
    "refused.page_packed": "{host} sent the page packed in a way that cannot be read ({kind}).",
    "refused.page_nonsense": "What {host} sent is no web page.",
    "refused.page_account": "{host} does not let Chickadee read this page (error {status}). Paste its text instead.",
    "not_found.page": "There is no page at this address on {host} (error {status}).",
    "no_connection.page_slow": "{host} took longer than {seconds} seconds to send the page.",
    "refused.server_filter": "{host} ended the answer: its filter does not allow more.",
    "refused.server_tools": (
        "{model} on {host} cannot use tools. Switch them off in this chat, or choose another model."
    ),
    "not_found.server_model": "{host} does not have {model} any more. Choose another model.",
    "not_found.server_api": "There is no model server at {host} under this address. It often ends with /v1.",
    "not_found.server_no_models": "{host} has no models. Load one there first.",
    "not_found.server_which": "{host} has several models. Name one with --server-model: {listed}.",
    "prompt_too_long.server": "This chat is too long for {model}: {reason}.",
    "prompt_too_long.server_turns": (
        "This chat is too long for {model}. Leave out the oldest turn, or start a new chat.",
        "This chat is too long for {model}. Leave out the {n} oldest turns, or start a new chat.",
    ),
    "keyring.locked": "The system's keyring does not give the server's key. Unlock it, or enter the key again.",
    "keyring.no_key": "The server's key is not in the keyring any more. Enter it again: Models, then Edit server.",
    "keyring.unwritable": "The server's key cannot be saved to {file}: {reason}.",
    "local_only.request": "A model on a server cannot do this.",
    "server_only.request": "Only the engine that asks servers can do this.",
    # The window: starting, and the engine's end.
    "start.already_open": "Chickadee is already open. Its window is now in front.",
    "start.no_display": "There is no display to open a window on. `{command}` chats in the terminal instead.",
    "protocol.unknown": (
        "The engine sent a message that this window does not understand; their versions may differ. The log has the "
        "details."
    ),
    "preparation.no_compiler": (
        "llama.cpp, which runs more models, cannot be prepared without a C and C++ compiler. {how} Then start "
        "Chickadee again."
    ),
    "preparation.failed": (
        "llama.cpp, which runs more models, could not be prepared: {reason}. Run `make setup` to try again."
    ),
    "engine_end.not_started": "The engine could not be started: {reason}.",
    "engine_end.hung": "The engine did not respond, so it was closed; your next message restarts it.",
    "engine_end.killed": "The engine was stopped by the system, most likely because memory ran out.",
    "engine_end.closed": "The engine was closed by another program.",
    "engine_end.processor": "The engine stopped: it was built for a newer processor than this one.",
    "engine_end.file": "The engine stopped: the model file could no longer be read.",
    "engine_end.crashed": "The engine crashed.",
    "engine_end.picture": (
        "The engine crashed while it read a picture. Remove the picture or try another one; your next message starts"
        " the engine again."
    ),
    "engine_end.bug": "The engine stopped because of an internal error.",
    "engine_end.signal": "The engine was stopped by signal {number}.",
    "engine_end.code": "The engine ended unexpectedly (code {code}).",
    "engine_end.unexpected": "The engine ended unexpectedly.",
    "internal.window": "Something went wrong inside Chickadee; the log has the details.",
    "data_folder.unwritable": (
        "Chickadee cannot write to its folder {folder}: {reason}. Check its permissions and free space."
    ),
    "qt.libraries": "The window's libraries cannot be loaded; the system says: {reason}.",
    "missing_library.of_system": "The window cannot open because a system library is missing: {names}. {how}",
    "how.command": "`{command}` installs it.",
    "how.package_manager": "Your system's package manager has it.",
    "settings.unwritable": "The settings cannot be saved: {file} cannot be written ({reason}).",
    "snippets.unreadable": "{file} cannot be read: {reason}.",
    "snippets.damaged": "{file} is damaged: it is no valid JSON.",
    "snippets.not_ours": "{file} contains no prompt snippets. Chickadee reads the JSON that it exports.",
    "snippets.own_damaged": (
        "{problem} The built-in snippets are used instead of yours. When you next change one, the file is kept "
        "under another name."
    ),
    "snippets.own_unreadable": (
        "{problem} The built-in snippets are used instead of yours, and changes cannot be saved."
    ),
    "snippets.newer": "{file} comes from a newer version of Chickadee. Update Chickadee first.",
    "snippets.too_large": "{file} is too large for prompt snippets: it may have {most:bytes}.",
    "snippets.too_many_in_file": "{file} has too many snippets: there is room for {most:,}.",
    "snippets.entry_empty": "{file} cannot be used: snippet {number:,} has no name or no text.",
    "snippets.entry_long": "{file} cannot be used: the snippet “{name}” has more than {most:,} characters.",
    "snippets.unwritable": "The snippets cannot be saved: {file} cannot be written ({reason}).",
    "already_running.hung": "Chickadee is already running but does not respond. Close it, then start it again.",
    "data_folder.locked": "Chickadee cannot write to its folder {folder}. Check its permissions and free space.",
    # The window: the file with all chats.
    "store.unwritable": "Your chats cannot be saved to {path}: {reason}.",
    "store_gone.file": (
        "The file with your chats, {path}, was moved or deleted while Chickadee was open, so nothing can be saved. Put "
        "it back."
    ),
    "disk_full.chats": "The disk is full, so this chat cannot be saved. Free some space.",
    "store_damaged.file": (
        "The file with your chats, {path}, is damaged. Restart Chickadee to recover what can be read."
    ),
    "store_locked.file": "Another program is using the file with your chats, {path}. Close it and try again.",
    "store_readonly.file": "The file with your chats, {path}, is read-only. Allow writing to it and its folder.",
    "export.unwritable": "{path} could not be written: {reason}.",
    "import.newer": "This file comes from a newer version of Chickadee. Update Chickadee to import it.",
    "import.entry": "Entry {number} in {name} cannot be read. Nothing was imported.",
    "import.unreadable": "{name} cannot be read: {reason}.",
    "import.damaged_zip": "{name} is damaged or password-protected. Nothing was imported.",
    "import.too_large": "{name} is too large. Nothing was imported.",
    "import.unknown": (
        "{name} contains no chats that Chickadee can read. Choose a file that Chickadee, ChatGPT, Claude, Open WebUI "
        "or llama.cpp has exported, or one in which a program keeps its chats."
    ),
    "import.not_a_chat": (
        "{name} is damaged, or of a version of {program} that Chickadee does not know. It was skipped."
    ),
    "import.newer_program": (
        "{name} was written by a newer version of {program} than Chickadee knows. It was skipped. Update Chickadee."
    ),
    "import.left_out": "Chat {number} in {name} is damaged and was skipped.",
    "import.database": "{name} is damaged, or {program} is writing in it. Close {program} and try again.",
    "import.database_file": "{name} is damaged, or a program is writing in it. Close that program and try again.",
    "import.damaged": "{name} is damaged at byte {at:,}. Nothing was imported.",
    "store_newer.file": "Your chats were saved by a newer version of Chickadee. Update Chickadee to open them.",
}
