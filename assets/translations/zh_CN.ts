<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
  <name>Chickadee</name>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;About Chickadee</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Chats</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Delete chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Edit</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;File</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Full screen</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Help</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Keyboard shortcuts</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Larger text</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;New chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Next chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Normal text size</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Open model…</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Previous chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Quit</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Rename chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Search chats and commands…</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Settings…</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Smaller text</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Stop, or close what is open</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Try again</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;View</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>&amp;Write a message</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>Copy last &amp;answer</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>Copy last &amp;code</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>To the &amp;beginning</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>To the &amp;end</source>
    <translation type="unfinished"></translation>
  </message>
</context>
<context>
  <name>Engine</name>
  <message>
    <location filename="../../engine/backend.py"/>
    <location filename="../../engine/ik/needs.py"/>
    <source>ik_llama.cpp is not installed: there is no wheel of it for this computer.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/context.py"/>
    <source>There is not enough free memory for a context of {1} tokens. Try a smaller one.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>There is not enough free memory to load {1}. Try a smaller model.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>{1} could not be loaded: {2} does not accept the file.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>{1} has the architecture “{2}”, which this version of {3} does not know yet.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>{1} is an adapter (LoRA), an addition to a model. Choose the model itself.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>{1} is an embedding model: it compares texts and cannot answer. Choose a chat model.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <location filename="../../models/header.py"/>
    <source>{1} is incomplete: part of the model is missing. Download it again.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>{1} is not a chat model: it translates text to text only.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/model.py"/>
    <source>{1} is the image part of a model. Choose the model itself.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/state.py"/>
    <source>The saved context could not be written to {1}: {2}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/capi/state.py"/>
    <source>The saved context {1} does not fit this model.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/choice.py"/>
    <source>ik_llama.cpp crashed with this model, so llama.cpp computes it.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/choice.py"/>
    <source>llama.cpp computes this model: ik_llama.cpp is not faster here.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/choice.py"/>
    <source>llama.cpp computes until both libraries were timed with this model, which happens in idle time.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/draft/same_vocabulary.py"/>
    <source>{1} Choose a draft model of the same family.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/draft/same_vocabulary.py"/>
    <source>{1} cannot draft for itself: that is pointless. Choose a smaller model to draft.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/draft/same_vocabulary.py"/>
    <source>{1} has another vocabulary than {2}: {3}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> Forget the oldest turn,</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> Forget the oldest {1} turns,</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> Shorten the message,</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> and keys and values in 8 bits</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> or start a new chat; a context that holds it would not fit into memory.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> or start a new chat; the model was not trained for a larger context.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source> start a new chat, or load the model with a context of {1} tokens{2}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source>No draft model is loaded. Choose one, or draft without.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source>No model is loaded. Choose a model first.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source>There is nothing to answer: the message is empty.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/engine.py"/>
    <source>This chat needs {1} tokens, the context holds {2}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/ik/needs.py"/>
    <source>ik_llama.cpp does not know how this file's weights are quantised.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/ik/needs.py"/>
    <source>ik_llama.cpp does not know the architecture “{1}” yet.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/ik/needs.py"/>
    <source>ik_llama.cpp needs a processor with {1}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/judge.py"/>
    <source>Another program was busy: how long this model's passes take is not known.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/kv/saved.py"/>
    <source>A saved chat's tokens are not those of its record.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/kv/saved.py"/>
    <source>Chats cannot be saved for fast opening: {1} cannot be written ({2}).</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/kv/saved.py"/>
    <source>The disk is nearly full: chats are no longer saved for fast opening.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/kv/saved.py"/>
    <source>The saved context {1} is damaged.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/kv/saved.py"/>
    <source>This chat's {1} MiB exceed the quota of saved chats.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>A context of up to {1} tokens would fit (KV cache {2}).</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>It would fit with keys and values stored as {1}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>No context would fit: even the smallest needs {1}. Choose a smaller model.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>{1} cannot store its keys and values as {2}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>{1} needs</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>{1} needs {2} with a context of {3} tokens, {4} too much: </source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>{1} up to {2} with a context of {3} tokens; {4}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/plan.py"/>
    <source>{1} with {2} needs</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/planner.py"/>
    <source>{1} cannot take tokens back, so there is no drafting with it.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>Memory is short: the context is only {1} tokens.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>The KV cache starts small and grows with the chat; the numbers are for a full context.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>The draft model {1} is left out: with it {2} would be needed for a context of {3} tokens.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>The draft model {1} is no smaller than the model it drafts for: it can hardly pay.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>The model can use {1} tokens of context; {2}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>The model was trained for {1} tokens of context; more than that is not used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>To save memory keys and values are stored as q8_0, half the size of f16 and nearly as exact.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>To save memory prompts are read {1} tokens at a time, a little slower.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>To save memory the weights are not repacked for this processor: answers are 1.2× slower.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>To save memory the weights are read into memory once instead of twice; loading takes longer.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>no more fits</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>up to {1} tokens would fit</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>{1} are available, {2} left for other programs</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>{1} of the budget of {2} can be used</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/reasons.py"/>
    <source>{1} of the weights are held twice, as in the file and repacked for this processor: 1.2× faster.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/serve.py"/>
    <source>Something went wrong inside the engine; the log has the details. Please try again.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/serve.py"/>
    <source>The computer's memory is full. Close other programs or load a smaller model.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/serve.py"/>
    <source>The engine did not understand a message: {1}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/template.py"/>
    <source>The model has no chat template of its own; ChatML is used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/template.py"/>
    <source>The model's chat template is damaged ({1}); ChatML is used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../engine/template.py"/>
    <source>The model's chat template refuses this chat: {1}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/default.py"/>
    <source>The built-in model is missing from this installation. Run `make setup` again.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/header.py"/>
    <source>{1} cannot be read: {2}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/header.py"/>
    <source>{1} has GGUF version {2}; versions 2 and 3 can be read.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/header.py"/>
    <source>{1} is a folder. Choose a model file, its name ends in .gguf.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/header.py"/>
    <source>{1} is damaged or incomplete: its header cannot be read. Download it again.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/header.py"/>
    <source>{1} is not a GGUF model file. Choose a file that ends in .gguf.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/shapes.py"/>
    <source>{1} does not say what the model looks like: “{2}” is missing or senseless.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/token_list.py"/>
    <source>The vocabulary of {1} cannot be read.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../models/token_list.py"/>
    <source>{1} holds no vocabulary.</source>
    <translation type="unfinished"></translation>
  </message>
</context>
</TS>
