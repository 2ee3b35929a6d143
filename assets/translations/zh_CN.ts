<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
  <name>Chickadee</name>
  <message>
    <location filename="../../app/about.py"/>
    <location filename="../../app/welcome.py"/>
    <source>A chickadee</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/about.py"/>
    <source>About Chickadee</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/about.py"/>
    <location filename="../../app/help_sheet.py"/>
    <location filename="../../app/settings_dialog.py"/>
    <source>Close</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/about.py"/>
    <source>Copy</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/about.py"/>
    <source>Copy versions and licences</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/about.py"/>
    <source>Made of, with the licences of each</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/about.py"/>
    <source>Private chat on the laptop you already have. No account; nothing you write leaves this computer.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/chat_commands.py"/>
    <source>Answer copied.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/chat_commands.py"/>
    <source>Code copied.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/chat_commands.py"/>
    <source>There is no answer to copy yet.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/chat_commands.py"/>
    <source>There is no code in this chat yet.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/choices.py"/>
    <source>Forget the oldest turn</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/choices.py"/>
    <source>Forget the oldest {n} turns</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/choices.py"/>
    <source>The oldest turn is left out from your next message on.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/choices.py"/>
    <source>The oldest {n} turns are left out from your next message on.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/choices.py"/>
    <source>Use a context of {n_ctx:,} tokens</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/choices.py"/>
    <source>Use a context of {n_ctx:,} tokens, stored in less memory</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/command_set.py"/>
    <source>{words} ({keys})</source>
    <translation type="unfinished"></translation>
  </message>
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
    <source>Another version of the message</source>
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
    <source>Delete the chat in the list</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>New line in the message</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>Rename the chat in the list</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/commands.py"/>
    <source>Send the message</source>
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
  <message>
    <location filename="../../app/commands.py"/>
    <source>What can be done with it: its menu</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/conversation.py"/>
    <source>The chat goes on, but only until you close the window.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/database.py"/>
    <source>Another program is using the file with your chats, {path}. Close it and try again.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/database.py"/>
    <source>The disk is full, so this chat cannot be stored. Free some space.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/database.py"/>
    <source>The file with your chats, {path}, is damaged and cannot be read.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/database.py"/>
    <source>The file with your chats, {path}, may only be read. Allow writing to it and its folder.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/database.py"/>
    <source>Your chats cannot be stored in {path}: {reason}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Explain how a heat pump works, then quiz me on it</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Explain in simple words why the sky is blue</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Explain what a race condition is, with a short example</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Give me five ideas for a rainy Sunday</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Help me plan a week of simple dinners for two</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Turn my notes into a polite e-mail; ask me for the notes</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Write a Python function that finds duplicate lines in a file</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Write a SQL query for the three latest orders of each customer</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/examples.py"/>
    <source>Write a friendly note to thank a neighbour</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/guard.py"/>
    <location filename="../../app/markdown.py"/>
    <source>image</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/help_sheet.py"/>
    <source>Keyboard shortcuts</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/help_sheet.py"/>
    <source>Where the focus is</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/markdown.py"/>
    <source>[image: {name}]</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/notice.py"/>
    <source>Details</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/notice.py"/>
    <source>Dismiss</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/palette.py"/>
    <source>Found</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/palette.py"/>
    <source>Nothing has these words.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/palette.py"/>
    <source>Search chats and commands</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/preferences.py"/>
    <source>No program opens {file}; any text editor will do.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/preferences.py"/>
    <source>Open settings</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/problem_notice.py"/>
    <source>Choose another model</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/problem_notice.py"/>
    <source>Start engine again</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>16 bits (f16)</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>4 bits (q4_0)</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>8 bits (q8_0)</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Above 1, recent words are less likely to come again; small models fall into loops at 1.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>All of them</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>An answer ends after so many tokens; automatic: when the model ends it, or the context is full.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Answers</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>As measured here</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>As the system</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <location filename="../../app/setting_controls.py"/>
    <source>Automatic</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>By the published rule</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Context</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Dark</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Drafting</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Engine</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>For chats that are saved so that they open fast; 0 saves none and deletes those that were saved.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Guesses the next words from the chat's own text, where measurements promise that it is faster.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>How exactly the model remembers what it has read: fewer bits make room for a longer context.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>How freely words are chosen: 0 always takes the likeliest one, more is livelier.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>How many of the processor's threads compute; automatic: as many as suit this computer.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>How many tokens of a chat the model can see at once; automatic: what fits into memory.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>In percent, from 80 to 200. Ctrl and + or - change it too, Ctrl+0 goes back.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Instructions</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Keys and values</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Language</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Library</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Light</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Light or dark; automatic: as the system has it, also when that changes.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Longest answer</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <location filename="../../app/status_line.py"/>
    <source>Memory</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Min-p</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Off</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Only so many of the likeliest tokens are chosen from; 0 switches this off.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Only the likeliest tokens that together have this probability are chosen from; 1 switches this off.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Repeat penalty</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Saved chats</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Space on the disk</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Standing instructions that the model reads before every chat.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Temperature</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Text size</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>The most memory the engine may take, like 4GiB; automatic: what is free, less a reserve.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Theme</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Threads</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Tokens with less than this share of the likeliest one's probability are left out; 0 switches this off.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Top-k</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Top-p</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>What menus, buttons and messages of Chickadee are written in; models answer in the language you write.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Where it pays</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Which library computes; automatic: the faster one for the model, once both were timed in idle time.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Which tokens are kept</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Whose keys and values stay in memory: every token's, or what a published rule or measurements here say.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/schema.py"/>
    <source>Window</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>a list</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>a number from {low} to {high}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>a size like 4GiB, from {low} to {high}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>a table</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>a text of at most {n:,.0f} characters</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>a whole number from {low} to {high}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>{name} is {value}; it must be {allowed}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>{several} or {last}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting.py"/>
    <source>“{text}”</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting_row.py"/>
    <source>Reset</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting_row.py"/>
    <source>Reset {setting}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting_row.py"/>
    <source>This must be {allowed}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/setting_row.py"/>
    <source>{setting}: back to what the machine suggests</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings.py"/>
    <source>In {file}, {error}. The default is used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings.py"/>
    <source>In {file}, {section} must be a section, [{section}]. Its defaults are used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings.py"/>
    <source>The old {file} was not TOML; it is kept as {kept}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_dialog.py"/>
    <source>No setting has these words.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_dialog.py"/>
    <source>Open file</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_dialog.py"/>
    <source>Reset all to what the machine suggests</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_dialog.py"/>
    <source>Search settings</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_dialog.py"/>
    <location filename="../../app/window.py"/>
    <source>Settings</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_dialog.py"/>
    <source>Undo the reset</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_file.py"/>
    <source>The settings cannot be stored: {file} cannot be written ({why}).</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_file.py"/>
    <source>line {line} is not UTF-8 text</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_file.py"/>
    <source>{file} cannot be read: {why}. The defaults are used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/settings_file.py"/>
    <source>{file} is not TOML: {why}. The defaults are used.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Computed by {library} with {n} threads</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Context used</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Context: {used:,} of {n_ctx:,} tokens used</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Last answer: {n:,} tokens in {seconds:.1f} s</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Last question: {read:,} tokens read, {known:,} known from before</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Memory of the engine: {size}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Model</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>No model</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>No model is loaded</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Open model…</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>Speed</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>{model} · {millions} million parameters · {size}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/status_line.py"/>
    <source>{n:,.0f} tok/s</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>Another chat is being answered, this one is next</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>Loading {model}</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>Loading {model}, your message is answered next</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>Reading this chat again…</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>Reading {done:,} of {total:,} tokens</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>Your message is kept and answered as soon as a model is loaded</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>the model</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>{line} · {time} left</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>{n} min</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/waiting.py"/>
    <source>{n} s</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>Chickadee chats with language models that run on this computer, without an account.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>No model is here yet: open a GGUF model file with {keys}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>Nothing you write leaves it: there is no server, and chats are files that only you can read.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>Private. Offline. On this laptop.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>Start chatting</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>Welcome to Chickadee</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/welcome.py"/>
    <source>{model} is included and ready; any other GGUF model can be opened with {keys}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/window.py"/>
    <source>New chat</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/window.py"/>
    <source>Show or hide the chats</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/wiring.py"/>
    <source>Models (*.gguf);;All files (*)</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/wiring.py"/>
    <source>Open model</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/wiring.py"/>
    <source>Undo</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/wiring.py"/>
    <source>“{title}” was deleted.</source>
    <translation type="unfinished"></translation>
  </message>
</context>
<context>
  <name>Engine</name>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine could not be started: {1}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine crashed.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine did not react to Stop, so it was ended; your next message starts it again.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine ended unexpectedly (code {1}).</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine ended unexpectedly.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine gave up because of an internal error.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine stopped: it was built for a newer processor than this one.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine stopped: the model file could not be read any more.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine was ended by another program.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine was stopped by signal {1}.</source>
    <translation type="unfinished"></translation>
  </message>
  <message>
    <location filename="../../app/engine_end.py"/>
    <source>The engine was stopped by the system, most likely because memory ran out.</source>
    <translation type="unfinished"></translation>
  </message>
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
    <location filename="../../engine/continuing.py"/>
    <source>There is no answer to continue: send a message first.</source>
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
    <location filename="../../engine/serve.py"/>
    <source>The tokens could not be counted.</source>
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
