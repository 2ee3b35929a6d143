<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
  <name>app</name>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Checking whether it fits…</source>
    <translation>正在判断能否运行…</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Could not determine whether it fits</source>
    <translation>无法判断能否运行</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Does not fit: needs {size} of memory</source>
    <translation>无法运行：需要 {size} 内存</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Does not fit: needs {size}; a context of {n} tokens would fit</source>
    <translation>无法运行：需要 {size}；上下文减到 {n} 个词元即可运行</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Fits: {size} of memory with {n} tokens</source>
    <translation>可运行：{n} 个词元时占用内存 {size}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Memory: {choices}</source>
    <translation>内存：{choices}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Memory: {size} for each 1,000 tokens</source>
    <translation>内存：每 1,000 个词元占 {size}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Reads {n:,} words in {delay}</source>
    <translation>读完 {n:,} 个英文单词约需 {delay}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Takes {size} of {free} free memory</source>
    <translation>占用 {size}，可用内存 {free}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Tight: {size} of memory with {n} tokens</source>
    <translation>勉强可运行：{n} 个词元时占用内存 {size}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>Very slow: needs {size}, more than the memory, so it is read from the disk again and again</source>
    <translation>非常慢：需要 {size}，超出内存，会反复从磁盘读取</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>about {size}</source>
    <translation>≈ {size}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>about {speed}</source>
    <translation>约 {speed}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>draft model</source>
    <translation>草稿模型</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>its own drafter</source>
    <translation>自带起草器</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>local API</source>
    <translation>本地 API</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>other</source>
    <translation>其他</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>other chats</source>
    <translation>其他对话</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>weights</source>
    <translation>权重</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>{size} available</source>
    <translation>可用 {size}</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>{speed}, measured here</source>
    <translation>{speed}（本机实测）</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <source>{speed}, measured on this computer</source>
    <translation>{speed}（本机实测）</translation>
  </message>
  <message>
    <location filename="../../app/notice.py"/>
    <source>Dismiss</source>
    <translation>关闭提示</translation>
  </message>
  <message>
    <location filename="../../app/quick_window.py"/>
    <source>Ask Chickadee</source>
    <translation>询问 Chickadee</translation>
  </message>
  <message>
    <location filename="../../app/quick_window.py"/>
    <source>Ask something. / finds prompt snippets, Esc closes this window.</source>
    <translation>问点什么吧。输入 / 查找提示词片段，按 Esc 关闭此窗口。</translation>
  </message>
  <message>
    <location filename="../../app/quick_window.py"/>
    <source>Open in the main window</source>
    <translation>在主窗口中打开</translation>
  </message>
  <message>
    <location filename="../../app/quick_window.py"/>
    <source>Open it in the main window to let {host} read this chat.</source>
    <translation>请在主窗口中打开，以允许 {host} 读取此对话。</translation>
  </message>
  <message>
    <location filename="../../app/window.py"/>
    <source>Instructions and persona for this chat</source>
    <translation>此对话的指令与角色</translation>
  </message>
  <message>
    <location filename="../../app/window.py"/>
    <source>Nothing of this chat is written to the disk. It is gone when you quit.</source>
    <translation>此对话的内容不会写入磁盘，退出后即消失。</translation>
  </message>
  <message>
    <location filename="../../app/window.py"/>
    <source>Temporary · not stored</source>
    <translation>临时 · 不保存</translation>
  </message>
  <message>
    <location filename="../../app/words.py"/>
    <source>, </source>
    <translation>、</translation>
  </message>
  <message>
    <location filename="../../app/words.py"/>
    <source>{several} and {last}</source>
    <translation>{several}、{last}</translation>
  </message>
  <message>
    <location filename="../../app/words.py"/>
    <source>{several} or {last}</source>
    <translation>{several} 或 {last}</translation>
  </message>
</context>
<context>
  <name>attachments</name>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>Reading “{name}” needed too much memory and was stopped. Attach a part, or save it as text.</source>
    <translation>读取“{name}”占用内存过多，已停止。请只附上一部分，或另存为文本。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>Reading “{name}” took longer than a minute and was stopped. Attach a part, or save it as text.</source>
    <translation>读取“{name}”超过一分钟，已停止。请只附上一部分，或另存为文本。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>You do not have permission to read “{name}”. Change its permissions or attach a copy.</source>
    <translation>你没有读取“{name}”的权限。请更改其权限，或附上一份副本。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” cannot be read: {reason}.</source>
    <translation>无法读取“{name}”：{reason}。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” contains no text. You can attach {kinds}.</source>
    <translation>“{name}”不含文本。可附上{kinds}。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” could not be read: the file reader stopped. Save it as text and attach that.</source>
    <translation>无法读取“{name}”：读取程序已中止。请另存为文本后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” has more than {most} million characters of text. Attach a part of it.</source>
    <translation>“{name}”的文本超过 {most}00 万个字符。请只附上一部分。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” has scanned pages without text, which cannot be read here. Save the pages as PNG or JPEG and attach those.</source>
    <translation>“{name}”是扫描件，没有文字，这里无法读取。请把页面另存为 PNG 或 JPEG 后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” has scanned pages without text. Choose a model that can see, or run text recognition (OCR) on it first.</source>
    <translation>“{name}”是扫描件，没有文字。请选择能看图片的模型，或先对它进行文字识别（OCR）。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” has {pages} pages; up to {most} can be read. Attach fewer pages.</source>
    <translation>“{name}”有 {pages} 页，最多可读取 {most} 页。请减少页数后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” has {size} pixels, more than can be read. Attach a smaller copy, or a part of it.</source>
    <translation>“{name}”有 {size} 像素，超出可读取的范围。请附上较小的副本或其中一部分。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is a HEIC picture, which cannot be read here. Save it as JPEG and attach that.</source>
    <translation>“{name}”是 HEIC 图片，这里无法读取。请另存为 JPEG 后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is a folder. Attach the files in it instead.</source>
    <translation>“{name}”是文件夹。请附上其中的文件。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is a picture in a format that cannot be read. Save it as PNG or JPEG and attach that.</source>
    <translation>“{name}”是图片，但其格式无法读取。请另存为 PNG 或 JPEG 后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is a picture, and this model cannot see.</source>
    <translation>“{name}”是图片，而此模型看不到图片。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is an archive or an unsupported document. Attach it as PDF, .docx or text.</source>
    <translation>“{name}”是压缩包或不支持的文档。请以 PDF、.docx 或文本格式附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is audio or video, and this model reads text only.</source>
    <translation>“{name}”是音频或视频，而此模型只能读取文本。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is damaged, or is not the type its name says. Open it in its own app and save it again.</source>
    <translation>“{name}”已损坏，或与扩展名不符。请用相应程序打开并重新保存。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is in an old Office format. Save it as .docx or PDF and attach that.</source>
    <translation>“{name}”是旧版 Office 格式。请另存为 .docx 或 PDF 后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is not a regular file, so it cannot be attached.</source>
    <translation>“{name}”不是普通文件，无法附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is password-protected. Save a copy without the password and attach that.</source>
    <translation>“{name}”受密码保护。请另存一份不带密码的副本后再附上。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is too small to show anything.</source>
    <translation>“{name}”太小，看不出内容。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” is {size}; files up to {most} can be attached. Attach a part of it.</source>
    <translation>“{name}”大小为 {size}，最多可附上 {most} 的文件。请只附上一部分。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” no longer exists. It may have been moved or deleted.</source>
    <translation>“{name}”已不存在，可能已被移动或删除。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” shows no text without its scripts. Open it in a browser and paste the text you need.</source>
    <translation>“{name}”不运行脚本就不显示任何文字。请在浏览器中打开它，再把需要的文字粘贴进来。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <source>“{name}” unpacks to far more data than it should, so it was not opened.</source>
    <translation>“{name}”解压后的大小异常，因此没有打开。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/kinds.py"/>
    <source>PDF</source>
    <translation>PDF</translation>
  </message>
  <message>
    <location filename="../../app/attachments/kinds.py"/>
    <source>Word (.docx)</source>
    <translation>Word (.docx)</translation>
  </message>
  <message>
    <location filename="../../app/attachments/kinds.py"/>
    <source>tables</source>
    <translation>表格</translation>
  </message>
  <message>
    <location filename="../../app/attachments/kinds.py"/>
    <source>text</source>
    <translation>文本</translation>
  </message>
  <message>
    <location filename="../../app/attachments/kinds.py"/>
    <source>web pages</source>
    <translation>网页</translation>
  </message>
  <message>
    <location filename="../../app/attachments/reader.py"/>
    <source>{name}, page {n}</source>
    <translation>{name}，第 {n} 页</translation>
  </message>
</context>
<context>
  <name>commands</name>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;About Chickadee</source>
    <translation>关于 Chickadee(&amp;A)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Attach files…</source>
    <translation>添加文件(&amp;A)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Chat</source>
    <translation>对话(&amp;C)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Chats</source>
    <translation>对话列表(&amp;C)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Choose tools…</source>
    <translation>选择工具(&amp;C)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Default text size</source>
    <translation>默认文字大小(&amp;D)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Delete chat</source>
    <translation>删除对话(&amp;D)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Document collections…</source>
    <translation>文档集合(&amp;D)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Edit</source>
    <translation>编辑(&amp;E)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Export this chat…</source>
    <translation>导出此对话(&amp;E)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;File</source>
    <translation>文件(&amp;F)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Find in this chat</source>
    <translation>在此对话中查找(&amp;F)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Full screen</source>
    <translation>全屏(&amp;F)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Guide</source>
    <translation>使用指南(&amp;G)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Help</source>
    <translation>帮助(&amp;H)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Import chats…</source>
    <translation>导入对话(&amp;I)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Instructions and persona…</source>
    <translation>指令与角色(&amp;I)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Keyboard shortcuts</source>
    <translation>键盘快捷键(&amp;K)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Larger text</source>
    <translation>放大文字(&amp;L)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Models…</source>
    <translation>模型(&amp;M)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;New chat</source>
    <translation>新对话(&amp;N)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Next chat</source>
    <translation>下一个对话(&amp;N)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Open model…</source>
    <translation>打开模型(&amp;O)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Paste</source>
    <translation>粘贴(&amp;P)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Previous chat</source>
    <translation>上一个对话(&amp;P)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Read linked page</source>
    <translation>读取链接的网页(&amp;R)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Rename chat</source>
    <translation>重命名对话(&amp;R)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Search chats, commands and settings…</source>
    <translation>搜索对话、命令和设置(&amp;S)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Settings…</source>
    <translation>设置(&amp;S)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Smaller text</source>
    <translation>缩小文字(&amp;S)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Stop or close</source>
    <translation>停止或关闭(&amp;S)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Think before answering</source>
    <translation>回答前先思考(&amp;T)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Undo</source>
    <translation>撤销(&amp;U)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Use collections…</source>
    <translation>使用集合(&amp;U)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;View</source>
    <translation>视图(&amp;V)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>&amp;Write a message</source>
    <translation>输入消息(&amp;W)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Answer no&amp;w</source>
    <translation>立即回答(&amp;W)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Beginning or end of the chat</source>
    <translation>到对话开头或结尾</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>C&amp;opy</source>
    <translation>复制(&amp;O)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Collapse folder</source>
    <translation>折叠文件夹</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Connect to a ser&amp;ver…</source>
    <translation>连接服务器(&amp;V)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Copy last &amp;answer</source>
    <translation>复制最后的回答(&amp;A)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Copy last &amp;code</source>
    <translation>复制最后的代码(&amp;C)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Cu&amp;t</source>
    <translation>剪切(&amp;T)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>D&amp;ictate</source>
    <translation>听写(&amp;I)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Delete chats</source>
    <translation>删除对话</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Dictate</source>
    <translation>听写</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>En&amp;gine monitor</source>
    <translation>引擎监视器(&amp;G)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Everywhere</source>
    <translation>任何位置</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Expand folder</source>
    <translation>展开文件夹</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Export a&amp;ll chats…</source>
    <translation>导出全部对话(&amp;L)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Find ne&amp;xt</source>
    <translation>查找下一个(&amp;X)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Find pre&amp;vious</source>
    <translation>查找上一个(&amp;V)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Go to &amp;beginning</source>
    <translation>到开头(&amp;B)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Go to &amp;end</source>
    <translation>到末尾(&amp;E)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>In the chat list</source>
    <translation>在对话列表中</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Last prompt, in an empty message</source>
    <translation>空消息中：找回上一条提问</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Lo&amp;cal API…</source>
    <translation>本地 API(&amp;C)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>M&amp;emory…</source>
    <translation>记忆(&amp;E)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>New &amp;folder</source>
    <translation>新建文件夹(&amp;F)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>New chat in this pro&amp;ject</source>
    <translation>在此项目中新建对话(&amp;J)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>New line in the message</source>
    <translation>在消息中换行</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>New tem&amp;porary chat</source>
    <translation>新建临时对话(&amp;P)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Next message</source>
    <translation>下一条消息</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Next or previous control</source>
    <translation>到下一个或上一个控件</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Next result</source>
    <translation>下一个结果</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>On a message</source>
    <translation>在消息上</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>On an attached file</source>
    <translation>在附件上</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Open &amp;log folder</source>
    <translation>打开日志文件夹(&amp;L)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Open chat or collapse folder</source>
    <translation>打开对话或折叠文件夹</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Open the context menu</source>
    <translation>打开上下文菜单</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>P&amp;rompt snippets…</source>
    <translation>提示词片段(&amp;R)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Pin &amp;or unpin chat</source>
    <translation>置顶或取消置顶对话(&amp;O)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Previous message</source>
    <translation>上一条消息</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Previous result</source>
    <translation>上一个结果</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Pro&amp;ject…</source>
    <translation>项目(&amp;J)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Prompt snippets, in an empty message</source>
    <translation>提示词片段（消息为空时）</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Quic&amp;k question…</source>
    <translation>快速提问(&amp;K)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Re&amp;do</source>
    <translation>重做(&amp;D)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Re&amp;generate</source>
    <translation>重新生成(&amp;G)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Recently d&amp;eleted…</source>
    <translation>最近删除(&amp;E)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Remove file</source>
    <translation>移除文件</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Rename chat or folder</source>
    <translation>重命名对话或文件夹</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>S&amp;torage…</source>
    <translation>存储空间(&amp;T)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Scroll the chat</source>
    <translation>滚动对话</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Search a&amp;ll chats</source>
    <translation>搜索所有对话(&amp;L)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Select all chats</source>
    <translation>全选对话</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Send message</source>
    <translation>发送消息</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Show file text</source>
    <translation>显示文件文本</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Show or hide the chat list</source>
    <translation>显示或隐藏对话列表</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Su&amp;m up the oldest messages</source>
    <translation>总结最早的消息(&amp;M)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Take a screens&amp;hot</source>
    <translation>截屏(&amp;H)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Tool ser&amp;vers (MCP)…</source>
    <translation>工具服务器（MCP）(&amp;V)…</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>Use first &amp;line as title</source>
    <translation>用第一行作标题(&amp;L)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <source>While writing</source>
    <translation>输入时</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>About Chickadee</source>
    <translation>关于 Chickadee</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>Components and their licences</source>
    <translation>组成部分及其许可证</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>Copy versions and licences</source>
    <translation>复制版本与许可证信息</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>Keyboard shortcuts</source>
    <translation>键盘快捷键</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>Private chat on the laptop you already have. No account; what you write stays on this computer, unless you connect a server.</source>
    <translation>在你现有的笔记本电脑上私密对话。无需账号；除非你连接服务器，你写下的内容都留在这台电脑上。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>The engine runs at the low integrity level of Windows: it can change only its own files.</source>
    <translation>引擎以 Windows 的低完整性级别运行：它只能更改自己的文件。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>The loaded model runs on {library}, with kernels for this processor: {kernels}.</source>
    <translation>已加载的模型由 {library} 运行，使用适合此处理器的内核：{kernels}。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>The loaded model runs on {library}.</source>
    <translation>已加载的模型由 {library} 运行。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>The system keeps the engine from opening network connections ({how}), but does not restrict which files it opens.</source>
    <translation>系统禁止引擎建立网络连接（{how}），但不限制它打开哪些文件。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>The system lets the engine open only models and its own files ({how}), but does not restrict network connections.</source>
    <translation>系统只允许引擎打开模型和它自己的文件（{how}），但不限制网络连接。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>The system lets the engine open only models and its own files, and no network connections ({how}).</source>
    <translation>系统只允许引擎打开模型和它自己的文件，不允许建立任何网络连接（{how}）。</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <source>This system does not restrict the engine.</source>
    <translation>此系统不限制引擎。</translation>
  </message>
  <message>
    <location filename="../../app/commands/palette.py"/>
    <source>Results</source>
    <translation>搜索结果</translation>
  </message>
  <message>
    <location filename="../../app/commands/palette.py"/>
    <source>Search chats, commands and settings</source>
    <translation>搜索对话、命令和设置</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>backup save file PDF Markdown HTML JSON</source>
    <translation>备份 保存 文件 打印 网页</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>bottom last scroll</source>
    <translation>底部 末尾 滚动</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>cancel abort interrupt</source>
    <translation>取消 中止 打断</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>capture screen picture image</source>
    <translation>截屏 截图 图片 图像</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>clipboard program</source>
    <translation>剪贴板 程序</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>clipboard reply response</source>
    <translation>剪贴板 回复 答复</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>dark light night mode colours colors appearance</source>
    <translation>深色 浅色 夜间 暗黑 模式 颜色 外观</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>disk space size free cache data delete</source>
    <translation>磁盘 空间 大小 清理 缓存 数据 删除</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>documents folders knowledge RAG</source>
    <translation>文档 文件夹 知识库 资料</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>download install load change switch language LLM Hugging Face Ollama</source>
    <translation>下载 安装 加载 更换 切换 语言模型 大模型</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>errors debug report problem</source>
    <translation>错误 调试 报告 问题 故障</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>exit close end</source>
    <translation>退出 关闭 结束</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>favourite favorite star top</source>
    <translation>收藏 星标 顶部</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>folders knowledge library RAG search index</source>
    <translation>文件夹 知识库 资料库 检索 索引</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>functions calculator plugins agents web search</source>
    <translation>函数 计算器 插件 智能体 联网 搜索</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>functions plugins agents</source>
    <translation>函数 插件 智能体</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>help manual documentation</source>
    <translation>帮助 手册 说明 文档</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>history list panel hide</source>
    <translation>历史 列表 面板 侧边栏 隐藏</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>history messages files</source>
    <translation>历史 消息 文件 查找</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>keys hotkeys bindings</source>
    <translation>按键 热键 快捷键</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>load GGUF file</source>
    <translation>加载 文件</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>memory RAM speed cache statistics performance</source>
    <translation>内存 速度 缓存 统计 性能</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>move history ChatGPT Claude LM Studio Ollama Jan</source>
    <translation>迁移 搬移 历史 导入</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>offline internet privacy online</source>
    <translation>离线 联网 网络 隐私</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>preferences options configuration</source>
    <translation>偏好 选项 配置</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>private incognito secret</source>
    <translation>隐私 无痕 秘密</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>project group</source>
    <translation>项目 分组</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>reasoning thoughts</source>
    <translation>推理 思维</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>remote cloud network GPU OpenAI vLLM Ollama URL address key</source>
    <translation>远程 云端 网络 显卡 地址 密钥</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>remove trash</source>
    <translation>移除 垃圾 回收</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>save file print PDF Markdown HTML JSON share</source>
    <translation>保存 文件 打印 分享 网页</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>search text words</source>
    <translation>搜索 文字 内容</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>server OpenAI endpoint port other programs HTTP</source>
    <translation>服务器 接口 端口 其他程序</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>small window mini spotlight</source>
    <translation>小窗口 迷你 浮窗</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>start conversation thread</source>
    <translation>开始 会话 聊天</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>summary summarise summarize shorten compress context</source>
    <translation>摘要 总结 概括 缩短 压缩 上下文</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>system prompt role character temperature sampling</source>
    <translation>系统提示词 角色 人设 温度 采样</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>templates saved prompts</source>
    <translation>模板 常用语 提示词</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>title name</source>
    <translation>标题 名称 改名</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>top first scroll</source>
    <translation>顶部 开头 滚动</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>trash restore undelete recover</source>
    <translation>垃圾箱 回收站 恢复 还原</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>try again retry redo another answer</source>
    <translation>重试 再试 重做 换一个回答</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>upload add document picture image photo PDF</source>
    <translation>上传 添加 文档 图片 照片</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>version licence license</source>
    <translation>版本 许可证 授权</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>web website internet URL browse</source>
    <translation>网页 网站 网址 上网 浏览</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>zoom font bigger smaller</source>
    <translation>缩放 字体 字号 放大 缩小</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>zoom font reset</source>
    <translation>缩放 字体 字号 还原</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>zoom font size</source>
    <translation>缩放 字体 字号 缩小</translation>
  </message>
  <message>
    <location filename="../../app/commands/related_words.py"/>
    <source>zoom font size bigger</source>
    <translation>缩放 字体 字号 放大</translation>
  </message>
</context>
<context>
  <name>composer</name>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <source>Switch back</source>
    <translation>换回</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <source>Switch back to {model}</source>
    <translation>换回 {model}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <source>This chat last used {model}</source>
    <translation>此对话上次使用的是 {model}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <source>This project uses {model}</source>
    <translation>此项目使用 {model}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <source>{was} (not on this computer)</source>
    <translation>{was}（不在这台电脑上）</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <source>{was} (server removed)</source>
    <translation>{was}（服务器已移除）</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>File {name}</source>
    <translation>文件 {name}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Full detail</source>
    <translation>全部细节</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Opens the picture.</source>
    <translation>打开图片。</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Opens the picture. Press Delete to remove it.</source>
    <translation>打开图片。按 Delete 键移除。</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Opens the text. Press Delete to remove the file.</source>
    <translation>打开文本。按 Delete 键移除文件。</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Opens the text. Press Delete to remove the page.</source>
    <translation>打开文本。按 Delete 键移除此网页。</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <location filename="../../app/composer/picture_view.py"/>
    <source>Picture {name}</source>
    <translation>图片 {name}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Remove {name}</source>
    <translation>移除 {name}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Show the model all of this picture; takes longer</source>
    <translation>让模型看到此图片的全部细节；用时更长</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Show the picture</source>
    <translation>显示图片</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Show the text</source>
    <translation>显示文本</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>Web page {name}</source>
    <translation>网页 {name}</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/chips.py"/>
    <source>about {n} tokens</source>
    <extracomment>n = 1: about {n} token</extracomment>
    <translation><numerusform>约 {n} 个词元</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>reading…</source>
    <translation>正在读取…</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>{address}, read on {day}</source>
    <translation>{address}，读取于 {day}</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/chips.py"/>
    <source>{n} characters</source>
    <extracomment>n = 1: {n} character</extracomment>
    <translation><numerusform>{n} 个字符</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <source>{sent} of {total} parts sent</source>
    <translation>已发送 {sent} / {total} 个部分</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Connecting to {host}</source>
    <translation>正在连接 {host}</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Drop files to attach them</source>
    <translation>松开即可添加文件</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Drop the model to use it</source>
    <translation>松开即可使用此模型</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Loading {model}</source>
    <translation>正在加载 {model}</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Loading {model}, then answering your message</source>
    <translation>正在加载 {model}，随后回答你的消息</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Looking at the picture… {n}%</source>
    <translation>正在看图片… {n}%</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Message</source>
    <translation>消息</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Message to {host}</source>
    <translation>发送给 {host} 的消息</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Reading this chat again…</source>
    <translation>正在重新读取此对话…</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Reading {done:,} of {total:,} tokens</source>
    <translation>正在读取：{done:,} / {total:,} 个词元</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Reading {names}…</source>
    <translation>正在读取 {names}…</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Waiting for {host}</source>
    <translation>正在等待 {host}</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Waiting: another chat is being answered first</source>
    <translation>正在等待：先回答另一个对话</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>Your message will be answered as soon as a model is loaded</source>
    <translation>加载模型后将立即回答你的消息</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>the model</source>
    <translation>模型</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <source>{line} · {time} left</source>
    <translation>{line} · 还需 {time}</translation>
  </message>
  <message>
    <location filename="../../app/composer/consent_line.py"/>
    <source>Do not send</source>
    <translation>不发送</translation>
  </message>
  <message>
    <location filename="../../app/composer/consent_line.py"/>
    <source>It will also read the instructions and files of the project “{project}”.</source>
    <translation>它还将读取项目“{project}”的指令和文件。</translation>
  </message>
  <message>
    <location filename="../../app/composer/consent_line.py"/>
    <source>It will also read what you let models remember about you.</source>
    <translation>它还将读取你允许模型记住的关于你的内容。</translation>
  </message>
  <message>
    <location filename="../../app/composer/consent_line.py"/>
    <source>Send this chat to {host}? The server will then read the chat's messages, files and instructions.</source>
    <translation>要把这个对话发送给 {host} 吗？该服务器将读取其中的消息、文件和指令。</translation>
  </message>
  <message>
    <location filename="../../app/composer/dictation_line.py"/>
    <source>Discard</source>
    <translation>放弃</translation>
  </message>
  <message>
    <location filename="../../app/composer/dictation_line.py"/>
    <source>Insert text</source>
    <translation>插入文字</translation>
  </message>
  <message>
    <location filename="../../app/composer/dictation_line.py"/>
    <source>Listening</source>
    <translation>正在听</translation>
  </message>
  <message>
    <location filename="../../app/composer/dictation_line.py"/>
    <source>Opening the microphone…</source>
    <translation>正在打开麦克风…</translation>
  </message>
  <message>
    <location filename="../../app/composer/dictation_line.py"/>
    <source>Writing down what you said…</source>
    <translation>正在写下你说的话…</translation>
  </message>
  <message>
    <location filename="../../app/composer/page_offers.py"/>
    <source>Connects to the page. Press Delete to decline.</source>
    <translation>会连接到该网页。按 Delete 键忽略。</translation>
  </message>
  <message>
    <location filename="../../app/composer/page_offers.py"/>
    <source>Connects to {address} and attaches the text of the page</source>
    <translation>连接到 {address}，并把网页文字作为附件</translation>
  </message>
  <message>
    <location filename="../../app/composer/page_offers.py"/>
    <source>Do not read {address}</source>
    <translation>不读取 {address}</translation>
  </message>
  <message>
    <location filename="../../app/composer/page_offers.py"/>
    <source>Read this page</source>
    <translation>读取此网页</translation>
  </message>
  <message>
    <location filename="../../app/composer/page_offers.py"/>
    <source>Read this page: {address}</source>
    <translation>读取此网页：{address}</translation>
  </message>
  <message>
    <location filename="../../app/composer/page_offers.py"/>
    <source>The message has a link. {key} reads the page: {address}</source>
    <translation>消息中有链接。按 {key} 读取网页：{address}</translation>
  </message>
  <message>
    <location filename="../../app/composer/queued_message.py"/>
    <source>Not sent yet. Press Enter to send it.</source>
    <translation>尚未发送。按 Enter 发送。</translation>
  </message>
  <message>
    <location filename="../../app/composer/queued_message.py"/>
    <source>Will be sent when the answer has ended</source>
    <translation>回答结束后将自动发送</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/snippet_popup.py"/>
    <source>{n} prompt snippets</source>
    <extracomment>n = 1: {n} prompt snippet</extracomment>
    <translation><numerusform>{n} 个提示词片段</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Answers come from {host}: your messages are sent there</source>
    <translation>由 {host} 回答：你的消息会发送到那里</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Context used</source>
    <translation>已用上下文</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Context: {used:,} of {n_ctx:,} tokens used</source>
    <translation>上下文：已用 {used:,} / {n_ctx:,} 个词元</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Engine memory: {size}</source>
    <translation>引擎占用内存：{size}</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Last answer: {n:,} tokens in {time}</source>
    <translation>上次回答：{n:,} 个词元，用时 {time}</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Last prompt: {read:,} tokens read, {known:,} from the cache</source>
    <translation>上次提示词：读取 {read:,} 个词元，另有 {known:,} 个来自缓存</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>No model</source>
    <translation>无模型</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>No model is loaded</source>
    <translation>未加载模型</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Preparing llama.cpp</source>
    <translation>正在准备 llama.cpp</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Preparing llama.cpp: {done:,} of {total:,}</source>
    <translation>正在准备 llama.cpp：{done:,} / {total:,}</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Runs on {library} with {n} threads</source>
    <translation>由 {library} 运行，使用 {n} 个线程</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Saving power</source>
    <translation>正在节能</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Saving power: set to “Always” in the settings</source>
    <translation>正在节能：在设置中设为“始终”</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>Saving power: the computer runs on its battery</source>
    <translation>正在节能：电脑正在使用电池</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>llama.cpp, which runs more models, is being compiled for this computer. This happens once.</source>
    <translation>正在为本机编译 llama.cpp，它能运行更多模型。只需编译一次。</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <source>{model} · {millions} million parameters · {size}</source>
    <translation>{model} · {millions}M 参数 · {size}</translation>
  </message>
  <message>
    <location filename="../../app/composer/switch_button.py"/>
    <source>Answer from your documents</source>
    <translation>根据你的文档回答</translation>
  </message>
  <message>
    <location filename="../../app/composer/switch_button.py"/>
    <source>Answers use your documents in {names}</source>
    <translation>回答使用 {names} 中的文档</translation>
  </message>
  <message>
    <location filename="../../app/composer/switch_button.py"/>
    <source>Let the model use tools</source>
    <translation>让模型使用工具</translation>
  </message>
  <message>
    <location filename="../../app/composer/switch_button.py"/>
    <source>The model may use: {names}</source>
    <translation>模型可以使用：{names}</translation>
  </message>
  <message>
    <location filename="../../app/composer/think_button.py"/>
    <source>How much the model thinks before it answers</source>
    <translation>模型回答前思考多少</translation>
  </message>
  <message>
    <location filename="../../app/composer/think_button.py"/>
    <source>Off: the model answers without thinking first</source>
    <translation>已关闭：模型不先思考，直接回答</translation>
  </message>
  <message>
    <location filename="../../app/composer/think_button.py"/>
    <source>On: the model thinks before it answers</source>
    <translation>已开启：模型回答前先思考</translation>
  </message>
  <message>
    <location filename="../../app/composer/think_button.py"/>
    <source>Think</source>
    <translation>思考</translation>
  </message>
  <message>
    <location filename="../../app/composer/think_button.py"/>
    <source>Think a little</source>
    <translation>稍作思考</translation>
  </message>
  <message>
    <location filename="../../app/composer/think_button.py"/>
    <source>Think hard</source>
    <translation>深入思考</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>Allow once</source>
    <translation>允许这一次</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>Always in this chat</source>
    <translation>在此对话中始终允许</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>Arguments</source>
    <translation>参数</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>Never in this chat</source>
    <translation>在此对话中始终拒绝</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>The model wants to use the tool “{tool}” of {source}.</source>
    <translation>模型想使用 {source} 的工具“{tool}”。</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>The model wants to use the tool “{tool}”, which connects to {host}.</source>
    <translation>模型想使用工具“{tool}”，它会连接 {host}。</translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <source>The model wants to use the tool “{tool}”.</source>
    <translation>模型想使用工具“{tool}”。</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>Change</source>
    <translation>更改</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>Remove largest file</source>
    <translation>移除最大的文件</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>Send the beginning, as much as fits</source>
    <translation>从开头起发送能容纳的部分</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>Send the best-matching parts</source>
    <translation>发送与问题最相关的部分</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>The beginning will be sent, as much of it as fits.</source>
    <translation>将从开头起发送能容纳的部分。</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>The file has {tokens} tokens; this chat has room for {room}.</source>
    <translation>该文件有 {tokens} 个词元，此对话还能容纳 {room} 个。</translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>The parts that match your question best will be sent.</source>
    <translation>将发送与问题最相关的部分。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/tray.py"/>
    <source>The {n} files have {tokens} tokens; this chat has room for {room}.</source>
    <extracomment>n = 1: The file has {tokens} tokens; this chat has room for {room}.</extracomment>
    <translation><numerusform>这 {n} 个文件共有 {tokens} 个词元，此对话还能容纳 {room} 个。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/composer/tray.py"/>
    <source>This chat has no room for files. Start a new chat with them, or remove them.</source>
    <translation>此对话已没有空间放文件。请新建对话，或移除这些文件。</translation>
  </message>
</context>
<context>
  <name>control</name>
  <message>
    <location filename="../../app/control/api_controller.py"/>
    <source>Programs that speak OpenAI's or Anthropic's API can ask the loaded model.</source>
    <translation>支持 OpenAI 或 Anthropic API 的程序可以向已加载的模型提问。</translation>
  </message>
  <message>
    <location filename="../../app/control/api_controller.py"/>
    <source>The local API has stopped. Turn it off and on again.</source>
    <translation>本地 API 已停止。请关闭后重新开启。</translation>
  </message>
  <message>
    <location filename="../../app/control/api_controller.py"/>
    <source>The local API is off.</source>
    <translation>本地 API 已关闭。</translation>
  </message>
  <message>
    <location filename="../../app/control/api_controller.py"/>
    <source>The local API is starting…</source>
    <translation>正在启动本地 API…</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_controller.py"/>
    <source>Answer copied.</source>
    <translation>已复制回答。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_controller.py"/>
    <source>Code copied.</source>
    <translation>已复制代码。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_controller.py"/>
    <source>There is no answer to copy yet.</source>
    <translation>还没有可复制的回答。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_controller.py"/>
    <source>There is no code in this chat yet.</source>
    <translation>此对话中还没有代码。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_list_controller.py"/>
    <source>New folder</source>
    <translation>新建文件夹</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_list_controller.py"/>
    <source>The folder “{name}” was deleted. Its chats are still here.</source>
    <translation>已删除文件夹“{name}”，其中的对话仍然保留。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/chat_list_controller.py"/>
    <source>{n} chats were deleted.</source>
    <extracomment>n = 1: {n} chat was deleted.</extracomment>
    <translation><numerusform>已删除 {n} 个对话。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/chat_list_controller.py"/>
    <source>“{title}” was deleted.</source>
    <translation>已删除“{title}”。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_options_controller.py"/>
    <source>Changed</source>
    <translation>已更改</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_options_controller.py"/>
    <source>With the loaded model, thinking cannot be turned on or off.</source>
    <translation>已加载的模型无法开启或关闭思考。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_options_controller.py"/>
    <source>{host} does not offer this.</source>
    <translation>{host} 不支持此项。</translation>
  </message>
  <message>
    <location filename="../../app/control/chat_options_controller.py"/>
    <source>{host} uses its own value until you change this one.</source>
    <translation>在你更改此值之前，{host} 使用自己的值。</translation>
  </message>
  <message>
    <location filename="../../app/control/collections_controller.py"/>
    <location filename="../../app/control/project_controller.py"/>
    <source>Choose a folder with documents</source>
    <translation>选择存放文档的文件夹</translation>
  </message>
  <message>
    <location filename="../../app/control/collections_controller.py"/>
    <source>Make a collection</source>
    <translation>创建集合</translation>
  </message>
  <message>
    <location filename="../../app/control/collections_controller.py"/>
    <source>The index of your collections was damaged and is being rebuilt. Until then, answers may miss some of your documents.</source>
    <translation>集合的索引已损坏，正在重新建立。在此之前，回答可能会遗漏你的部分文档。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/collections_controller.py"/>
    <source>{n} more files</source>
    <extracomment>n = 1: {n} more file</extracomment>
    <translation><numerusform>另外 {n} 个文件</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/collections_controller.py"/>
    <source>“{name}” is a folder. Its documents can be searched for each question.</source>
    <translation>“{name}”是文件夹。每次提问时都可以在其中的文档里查找。</translation>
  </message>
  <message>
    <location filename="../../app/control/collections_controller.py"/>
    <source>“{name}” is switched on in this chat. In other chats, switch it on beside the message box.</source>
    <translation>“{name}”已在此对话中启用。在其他对话中，可在消息框旁边启用它。</translation>
  </message>
  <message>
    <location filename="../../app/control/collections_controller.py"/>
    <source>“{name}” was removed; its files are untouched.</source>
    <translation>“{name}”已移除；其中的文件未作改动。</translation>
  </message>
  <message>
    <location filename="../../app/control/context_menu.py"/>
    <source>Include all turns again</source>
    <translation>重新包含所有对话轮次</translation>
  </message>
  <message>
    <location filename="../../app/control/context_menu.py"/>
    <source>The model reads the whole chat again with your next message.</source>
    <translation>发送下一条消息时，模型会重新读取整个对话。</translation>
  </message>
  <message>
    <location filename="../../app/control/dictation_controller.py"/>
    <source>Dictation needs a speech model, {file}: {size} from huggingface.co/{repo}, {licence} licence, checked against a fixed digest. What you say stays on this computer and is never stored.</source>
    <translation>听写需要语音识别模型 {file}：{size}，来自 huggingface.co/{repo}，{licence} 许可证，下载后会与固定的摘要核对。你说的话只留在这台电脑上，绝不会被保存。</translation>
  </message>
  <message>
    <location filename="../../app/control/dictation_controller.py"/>
    <source>Download again</source>
    <translation>重新下载</translation>
  </message>
  <message>
    <location filename="../../app/control/dictation_controller.py"/>
    <source>The speech model is being downloaded.</source>
    <translation>正在下载语音识别模型。</translation>
  </message>
  <message>
    <location filename="../../app/control/dictation_controller.py"/>
    <source>You can dictate now: press the microphone.</source>
    <translation>现在可以听写了：请按麦克风按钮。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_controller.py"/>
    <source>Insert into message</source>
    <translation>插入到消息中</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_controller.py"/>
    <source>Pasted picture</source>
    <translation>粘贴的图片</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_controller.py"/>
    <source>The long text was attached as a file.</source>
    <translation>较长的文本已作为文件附上。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_controller.py"/>
    <source>The waiting message was removed.</source>
    <translation>已移除等待发送的消息。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_controller.py"/>
    <source>Your message will be sent when the answer has ended.</source>
    <translation>回答结束后将发送消息。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>A message can have {most} files. Remove one first.</source>
    <translation>一条消息最多可附 {most} 个文件。请先移除一个。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>A message can have {most} files; the others were not attached.</source>
    <translation>一条消息最多附 {most} 个文件，其余未添加。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>Pasted text</source>
    <translation>粘贴的文本</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>Pictures need a model that can see. The smallest one on this computer is {model}, {size}.</source>
    <translation>图片需要能看图片的模型。本机上最小的是 {model}，{size}。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>Pictures need a model that can see. The smallest one to download is {model}, {size}.</source>
    <translation>图片需要能看图片的模型。可下载的最小的是 {model}，{size}。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>Reading the page at {host}…</source>
    <translation>正在读取 {host} 的网页…</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>This model cannot see pictures.</source>
    <translation>此模型看不到图片。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>“{name}” has {count} pages without text; {n} of them were attached as pictures.</source>
    <translation>“{name}”有 {count} 页没有文字，其中 {n} 页已作为图片附上。</translation>
  </message>
  <message>
    <location filename="../../app/control/draft_files.py"/>
    <source>“{name}” is attached.</source>
    <translation>已附上“{name}”。</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <source>Chickadee ended unexpectedly while loading {model} last time, so {other} is used.</source>
    <translation>上次加载 {model} 时 Chickadee 意外退出，因此改用 {other}。</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <location filename="../../app/control/smaller_model_controller.py"/>
    <location filename="../../app/control/status_controller.py"/>
    <source>Choose another model</source>
    <translation>选择其他模型</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <location filename="../../app/control/preparation_controller.py"/>
    <source>Load {model}</source>
    <translation>加载 {model}</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <source>The engine stopped while loading {model}, so {other} is used.</source>
    <translation>引擎在加载 {model} 时停止，因此改用 {other}。</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <source>{model} could not be loaded, so {other} is used. {reason}</source>
    <translation>无法加载 {model}，因此改用 {other}。{reason}</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <source>{model} does not fit into memory now, so {other} is used.</source>
    <translation>目前内存不足以加载 {model}，因此改用 {other}。</translation>
  </message>
  <message>
    <location filename="../../app/control/first_model_notice.py"/>
    <source>{model} is no longer in {folder}, so {other} is used.</source>
    <translation>{model} 已不在 {folder} 中，因此改用 {other}。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_controller.py"/>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>All files (*)</source>
    <translation>所有文件 (*)</translation>
  </message>
  <message>
    <location filename="../../app/control/import_controller.py"/>
    <source>Chats ({endings})</source>
    <translation>对话 ({endings})</translation>
  </message>
  <message>
    <location filename="../../app/control/import_controller.py"/>
    <source>Choose a file with chats</source>
    <translation>选择包含对话的文件</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>A temporary chat is not stored, so it cannot be exported. You can copy its messages.</source>
    <translation>临时对话不会保存，因此无法导出。你可以复制其中的消息。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>All these chats are already here.</source>
    <translation>这些对话都已在此处。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Another import or export is still running. Try again when it is finished.</source>
    <translation>另一个导入或导出仍在进行。请待其完成后重试。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Chickadee chats {date}</source>
    <translation>Chickadee 对话 {date}</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Export chats</source>
    <translation>导出对话</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Export the project</source>
    <translation>导出项目</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Exporting… {percent}%, {chats} chats</source>
    <translation>正在导出… {percent}%，{chats} 个对话</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Importing… {percent}%, {chats} chats</source>
    <translation>正在导入… {percent}%，{chats} 个对话</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Replace</source>
    <translation>替换</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Show in folder</source>
    <translation>在文件夹中显示</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Stopped. Nothing was changed.</source>
    <translation>已停止，未做任何更改。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>Taking the import back…</source>
    <translation>正在撤销导入…</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>There are no chats in this file.</source>
    <translation>此文件中没有对话。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>There are no chats to export yet.</source>
    <translation>还没有可导出的对话。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>This chat is empty, so there is nothing to export.</source>
    <translation>此对话是空的，没有可导出的内容。</translation>
  </message>
  <message>
    <location filename="../../app/control/import_export_controller.py"/>
    <source>{folder} already contains a file named {name}.</source>
    <translation>{folder} 中已有文件 {name}。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/import_export_controller.py"/>
    <source>{n} chats were exported to {name}.</source>
    <extracomment>n = 1: {n} chat was exported to {name}.</extracomment>
    <translation><numerusform>{n} 个对话已导出到 {name}。</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/import_export_controller.py"/>
    <source>{n} chats were imported.</source>
    <extracomment>n = 1: {n} chat was imported.</extracomment>
    <translation><numerusform>已导入 {n} 个对话。</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/import_export_controller.py"/>
    <source>{n} chats were updated.</source>
    <extracomment>n = 1: {n} chat was updated.</extracomment>
    <translation><numerusform>更新了 {n} 个对话。</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/import_export_controller.py"/>
    <source>{n} folders were imported.</source>
    <extracomment>n = 1: {n} folder was imported.</extracomment>
    <translation><numerusform>已导入 {n} 个文件夹。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/memory_controller.py"/>
    <source>Look…</source>
    <translation>查看…</translation>
  </message>
  <message>
    <location filename="../../app/control/memory_controller.py"/>
    <source>The fact was deleted.</source>
    <translation>已删除这条内容。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/memory_controller.py"/>
    <source>The model proposes {n} facts about you to remember.</source>
    <extracomment>n = 1: The model proposes {n} fact about you to remember.</extracomment>
    <translation><numerusform>模型提出了 {n} 条关于你的内容，供记住。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>An answer is being written. Stop it first, or wait until it is finished.</source>
    <translation>正在生成回答。请先停止，或等待其完成。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>Edit discarded.</source>
    <translation>已放弃编辑。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>No other model on this computer</source>
    <translation>这台电脑上没有其他模型</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>No program could open {name}.</source>
    <translation>没有程序能打开 {name}。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>The messages in this chat were deleted.</source>
    <translation>此对话的消息已被删除。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>The model is not thinking now.</source>
    <translation>模型现在没有在思考。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>The summary was changed.</source>
    <translation>已修改总结。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>The summary was removed.</source>
    <translation>已移除总结。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>This is a new chat with copies of the messages up to here.</source>
    <translation>这是一个新对话，包含到此为止的消息副本。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>This source is no longer stored with the question.</source>
    <translation>此来源已不再随问题保存。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>{host} cannot end a thought early. Stop the answer instead.</source>
    <translation>{host} 无法提前结束思考。可以改为停止回答。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>{model} will be loaded after that and answer again.</source>
    <translation>之后将加载 {model} 并重新回答。</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <source>{model} will be loaded after that.</source>
    <translation>之后将加载 {model}。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/message_controller.py"/>
    <source>{n} messages were deleted.</source>
    <extracomment>n = 1: {n} message was deleted.</extracomment>
    <translation><numerusform>已删除 {n} 条消息。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>Accept and download</source>
    <translation>接受并下载</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>Checking for new models…</source>
    <translation>正在检查新模型…</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>Models (*.gguf)</source>
    <translation>模型 (*.gguf)</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>Models (*.gguf);;All files (*)</source>
    <translation>模型 (*.gguf);;所有文件 (*)</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>No new models since {date}.</source>
    <translation>{date} 之后没有新模型。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>No results on huggingface.co</source>
    <translation>在 huggingface.co 上无结果</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>Open model</source>
    <translation>打开模型</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/model_controller.py"/>
    <source>{n} models are new or have changed.</source>
    <extracomment>n = 1: {n} model is new or has changed.</extracomment>
    <translation><numerusform>{n} 个模型是新增或已更新的。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <source>{size} to download, {free} free on this disk.</source>
    <translation>需下载 {size}，此磁盘剩余 {free}。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_files.py"/>
    <source>{folder} was removed from the list. Its files are still there.</source>
    <translation>已从列表移除 {folder}，其中的文件仍保留。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_files.py"/>
    <source>{model} was deleted.</source>
    <translation>已删除 {model}。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_files.py"/>
    <source>{model} was removed from the list. Its file is still there.</source>
    <translation>已从列表移除 {model}，其文件保留。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_switch.py"/>
    <source>Close this notice to cancel.</source>
    <translation>关闭此提示即可取消。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_switch.py"/>
    <source>Stop the answer</source>
    <translation>停止回答</translation>
  </message>
  <message>
    <location filename="../../app/control/model_switch.py"/>
    <source>“{chat}” is being answered.</source>
    <translation>正在回答“{chat}”。</translation>
  </message>
  <message>
    <location filename="../../app/control/model_switch.py"/>
    <source>“{chat}” waits for its answer.</source>
    <translation>“{chat}”正在等待回答。</translation>
  </message>
  <message>
    <location filename="../../app/control/notification_controller.py"/>
    <source>An answer could not be completed</source>
    <translation>有一个回答未能完成</translation>
  </message>
  <message>
    <location filename="../../app/control/notification_controller.py"/>
    <source>Temporary chat</source>
    <translation>临时对话</translation>
  </message>
  <message>
    <location filename="../../app/control/notification_controller.py"/>
    <source>Your answer is ready</source>
    <translation>回答已完成</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>Continue with it</source>
    <translation>用它继续</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>Copy to this computer</source>
    <translation>复制到本机</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>The download of {model} stopped at {done} of {total}.</source>
    <translation>{model} 的下载已停止：{done} / {total}。</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>With another computer, download {file} from huggingface.co/{repo}, copy it to a USB stick, and drop it on this window.</source>
    <translation>请在另一台电脑上从 huggingface.co/{repo} 下载 {file}，复制到 U 盘，再拖到此窗口。</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>{model} is being copied…</source>
    <translation>正在复制 {model}…</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>{model} is on another drive. Copy it to this computer before you remove that drive.</source>
    <translation>{model} 在另一个磁盘上。移除该磁盘前，请先复制到本机。</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>{model} is ready.</source>
    <translation>{model} 已就绪。</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>{model} was copied. You can remove the drive.</source>
    <translation>{model} 已复制，可以移除该磁盘了。</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <source>{size} to download</source>
    <translation>需下载 {size}</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/own_tools.py"/>
    <source>{n} parts</source>
    <extracomment>n = 1: {n} part</extracomment>
    <translation><numerusform>{n} 个部分</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/own_tools.py"/>
    <source>{n} passages</source>
    <extracomment>n = 1: {n} passage</extracomment>
    <translation><numerusform>{n} 个段落</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/page_controller.py"/>
    <source>The message has no link to a web page that is not attached yet.</source>
    <translation>消息中没有尚未附上的网页链接。</translation>
  </message>
  <message>
    <location filename="../../app/control/palette_controller.py"/>
    <source>{setting}: {value}</source>
    <translation>{setting}：{value}</translation>
  </message>
  <message>
    <location filename="../../app/control/preparation_controller.py"/>
    <source>llama.cpp is ready.</source>
    <translation>llama.cpp 已就绪。</translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <source>Add files to the project</source>
    <translation>向项目添加文件</translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <source>Each chat begins with {tokens:,} tokens; the model has a context of {n_ctx:,}.</source>
    <translation>每个对话以 {tokens:,} 个词元开始；模型的上下文为 {n_ctx:,} 个。</translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <source>Each chat would begin with {tokens:,} tokens, but the model has a context of {n_ctx:,}, answers included. Remove files, or have a folder searched instead: then the model reads only what helps with a question.</source>
    <translation>每个对话将以 {tokens:,} 个词元开始，但模型的上下文（含回答）只有 {n_ctx:,} 个。请移除一些文件，或改为搜索文件夹：这样模型只读取对问题有帮助的内容。</translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <source>Its size is counted when a model is loaded.</source>
    <translation>载入模型后会计算其长度。</translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <source>This chat is in no folder. A project is a folder: move the chat to one first.</source>
    <translation>此对话不在任何文件夹中。项目就是文件夹：请先把对话移到一个文件夹。</translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <source>{done} of {all} files have been read…</source>
    <translation>已读取 {all} 个文件中的 {done} 个…</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/project_controller.py"/>
    <source>{n} files of “{name}” have changed since they were read.</source>
    <extracomment>n = 1: {n} file of “{name}” has changed since it was read.</extracomment>
    <translation><numerusform>“{name}”的 {n} 个文件在读取后有改动。</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/project_controller.py"/>
    <source>{n} files were removed.</source>
    <extracomment>n = 1: {n} file was removed.</extracomment>
    <translation><numerusform>已移除 {n} 个文件。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/project_files.py"/>
    <source>A project can have {most} files; the others were not added.</source>
    <translation>一个项目最多有 {most} 个文件；其余文件未添加。</translation>
  </message>
  <message>
    <location filename="../../app/control/quick_controller.py"/>
    <source>Ask…</source>
    <translation>提问…</translation>
  </message>
  <message>
    <location filename="../../app/control/quick_controller.py"/>
    <source>Chickadee keeps running. To quit, use the menu of this icon.</source>
    <translation>Chickadee 仍在运行。要退出，请使用此图标的菜单。</translation>
  </message>
  <message>
    <location filename="../../app/control/quick_controller.py"/>
    <source>Show the main window</source>
    <translation>显示主窗口</translation>
  </message>
  <message>
    <location filename="../../app/control/retriever.py"/>
    <source>Your collections are not indexed yet. The message was sent without them.</source>
    <translation>你的集合尚未建立索引。消息已发送，但没有使用集合。</translation>
  </message>
  <message>
    <location filename="../../app/control/retriever.py"/>
    <source>Your collections could not be searched. The message was sent without them.</source>
    <translation>无法搜索你的集合。消息已发送，但没有使用集合。</translation>
  </message>
  <message>
    <location filename="../../app/control/screenshot_controller.py"/>
    <source>Screenshot</source>
    <translation>截屏</translation>
  </message>
  <message>
    <location filename="../../app/control/screenshot_controller.py"/>
    <source>The screen could not be read. Your system may forbid it: check its privacy settings.</source>
    <translation>无法读取屏幕内容。系统可能禁止了这一操作：请查看系统的隐私设置。</translation>
  </message>
  <message>
    <location filename="../../app/control/sender.py"/>
    <source>The files could not be searched, so nothing was sent.</source>
    <translation>无法检索这些文件，因此没有发送任何内容。</translation>
  </message>
  <message>
    <location filename="../../app/control/server_contents.py"/>
    <source>Attach from {server}</source>
    <translation>从 {server} 附加</translation>
  </message>
  <message>
    <location filename="../../app/control/server_contents.py"/>
    <source>Reading “{name}” of {server}…</source>
    <translation>正在读取 {server} 的“{name}”…</translation>
  </message>
  <message>
    <location filename="../../app/control/server_controller.py"/>
    <source>The server answers, but it has no models. Load one there first.</source>
    <translation>服务器有响应，但没有模型。请先在那里加载一个。</translation>
  </message>
  <message>
    <location filename="../../app/control/server_controller.py"/>
    <source>This system has no keyring, so the key is in a file that only you can read: {file}</source>
    <translation>此系统没有密钥环，因此密钥保存在只有你能读取的文件中：{file}</translation>
  </message>
  <message>
    <location filename="../../app/control/settings_controller.py"/>
    <source>No program could open {file}. Open it in a text editor.</source>
    <translation>没有程序能打开 {file}。请用文本编辑器打开。</translation>
  </message>
  <message>
    <location filename="../../app/control/settings_controller.py"/>
    <source>Open settings</source>
    <translation>打开设置</translation>
  </message>
  <message>
    <location filename="../../app/control/smaller_model_controller.py"/>
    <source>Download {model} ({size})</source>
    <translation>下载 {model}（{size}）</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>(see the attached text)</source>
    <translation>（见所附文本）</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>All snippets of this file are here already.</source>
    <translation>此文件中的片段都已存在。</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>Export prompt snippets</source>
    <translation>导出提示词片段</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>Import prompt snippets</source>
    <translation>导入提示词片段</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>Manage prompt snippets…</source>
    <translation>管理提示词片段…</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>New snippet</source>
    <translation>新片段</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>Prompt snippets (*.json)</source>
    <translation>提示词片段 (*.json)</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>d MMMM yyyy</source>
    <translation>yyyy年M月d日</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/snippet_controller.py"/>
    <source>{n} snippets were exported.</source>
    <extracomment>n = 1: {n} snippet was exported.</extracomment>
    <translation><numerusform>已导出 {n} 个片段。</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/snippet_controller.py"/>
    <source>{n} snippets were imported.</source>
    <extracomment>n = 1: {n} snippet was imported.</extracomment>
    <translation><numerusform>已导入 {n} 个片段。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>“{name}” was deleted.</source>
    <translation>已删除“{name}”。</translation>
  </message>
  <message>
    <location filename="../../app/control/snippet_controller.py"/>
    <source>“{name}” was not inserted, because another chat is open.</source>
    <translation>未插入“{name}”，因为打开的是另一个对话。</translation>
  </message>
  <message>
    <location filename="../../app/control/status_controller.py"/>
    <source>Restart engine</source>
    <translation>重新启动引擎</translation>
  </message>
  <message>
    <location filename="../../app/control/status_controller.py"/>
    <source>This model needs llama.cpp, which is still being prepared. The model will be loaded in about a minute.</source>
    <translation>此模型需要 llama.cpp，它仍在准备中。大约一分钟后将加载此模型。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/status_controller.py"/>
    <source>This model needs llama.cpp, which is still being prepared. The model will be loaded in about {n} minutes.</source>
    <extracomment>n = 1: This model needs llama.cpp, which is still being prepared. The model will be loaded in about a minute.</extracomment>
    <translation><numerusform>此模型需要 llama.cpp，它仍在准备中。大约 {n} 分钟后将加载此模型。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/status_controller.py"/>
    <source>This model needs llama.cpp, which is still being prepared. The model will be loaded when that is done.</source>
    <translation>此模型需要 llama.cpp，它仍在准备中。准备完成后将加载此模型。</translation>
  </message>
  <message>
    <location filename="../../app/control/storage_controller.py"/>
    <source>No program could open the folder {folder}.</source>
    <translation>没有程序能打开文件夹 {folder}。</translation>
  </message>
  <message>
    <location filename="../../app/control/storage_controller.py"/>
    <source>Some files could not be deleted: {files}.</source>
    <translation>部分文件无法删除：{files}。</translation>
  </message>
  <message>
    <location filename="../../app/control/storage_controller.py"/>
    <source>Storage</source>
    <translation>存储空间</translation>
  </message>
  <message>
    <location filename="../../app/control/storage_controller.py"/>
    <source>The deleted data is still in the file and will be removed later.</source>
    <translation>已删除的数据仍在文件中，稍后会被清除。</translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>Sum up</source>
    <translation>总结</translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>The model wrote no summary. Leave out the oldest messages instead, or use another model.</source>
    <translation>模型没有写出总结。请改为省略最早的消息，或换用其他模型。</translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>The newest messages alone fill the context: summing up older ones does not help.</source>
    <translation>仅最新的消息就已占满上下文，总结更早的消息没有帮助。</translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>The oldest messages are being summed up…</source>
    <translation>正在总结最早的消息…</translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>The oldest turn was summed up.</source>
    <translation>已总结最早的一轮对话。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/summary_controller.py"/>
    <source>The oldest {n} turns were summed up.</source>
    <extracomment>n = 1: The oldest turn was summed up.</extracomment>
    <translation><numerusform>已总结最早的 {n} 轮对话。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>This chat has nearly filled the context. Its oldest messages can be summed up for the model.</source>
    <translation>此对话的上下文已接近用满。可以为模型总结最早的消息。</translation>
  </message>
  <message>
    <location filename="../../app/control/summary_controller.py"/>
    <source>This chat is short: there is nothing to sum up yet.</source>
    <translation>此对话还很短，暂时没有可总结的内容。</translation>
  </message>
  <message>
    <location filename="../../app/control/title_controller.py"/>
    <source>The title is now “{title}”.</source>
    <translation>标题现在是“{title}”。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/tool_servers_controller.py"/>
    <source>{n} servers were added.</source>
    <extracomment>n = 1: {n} server was added.</extracomment>
    <translation><numerusform>已添加 {n} 个服务器。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/tool_servers_controller.py"/>
    <source>“{name}” was removed.</source>
    <translation>“{name}”已移除。</translation>
  </message>
  <message>
    <location filename="../../app/control/tools_controller.py"/>
    <source>Ask me again before tools act</source>
    <translation>工具执行操作前重新询问</translation>
  </message>
  <message>
    <location filename="../../app/control/tools_controller.py"/>
    <source>You will be asked again before a tool acts in this chat.</source>
    <translation>在此对话中，工具执行操作前会再次询问你。</translation>
  </message>
  <message>
    <location filename="../../app/control/unsaved_controller.py"/>
    <source>Everything is saved now.</source>
    <translation>所有内容现已保存。</translation>
  </message>
  <message>
    <location filename="../../app/control/unsaved_controller.py"/>
    <source>The latest changes in “{title}” could not be saved.</source>
    <translation>“{title}”中最近的更改未能保存。</translation>
  </message>
  <message>
    <location filename="../../app/control/unsaved_controller.py"/>
    <source>Your draft could not be saved.</source>
    <translation>你的草稿未能保存。</translation>
  </message>
</context>
<context>
  <name>dialogs</name>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Address</source>
    <translation>地址</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>Copy address</source>
    <translation>复制地址</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>Copy key</source>
    <translation>复制密钥</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>New key</source>
    <translation>新密钥</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>None yet</source>
    <translation>暂无</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>Remove key</source>
    <translation>移除密钥</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>Requests</source>
    <translation>请求</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>Without a key, every program on this computer can ask the model.</source>
    <translation>没有密钥时，这台电脑上的任何程序都可以向模型提问。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>in progress</source>
    <translation>进行中</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>unknown program</source>
    <translation>未知程序</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <source>{read} tokens read, {written} written</source>
    <translation>读取 {read} 个词元，生成 {written} 个</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Delete this persona; chats that use it keep its settings</source>
    <translation>删除此角色；使用它的对话保留其设置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Name of the persona</source>
    <translation>角色名称</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Persona</source>
    <translation>角色</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Rename this persona</source>
    <translation>重命名此角色</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Rename…</source>
    <translation>重命名…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Save as persona…</source>
    <translation>存为角色…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>Save these instructions and values as a persona</source>
    <translation>将这些指令和参数存为角色</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <source>This chat</source>
    <translation>此对话</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Add a folder with documents, and switch it on beside the message box: answers then use the passages that help, and name their files. The files are indexed on this computer; these kinds can be read: {kinds}.</source>
    <translation>添加一个存放文档的文件夹，并在消息框旁边启用它：回答会使用有帮助的段落，并注明所在文件。文件在这台电脑上建立索引；可读取：{kinds}。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Collections</source>
    <translation>集合</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Files that cannot be read</source>
    <translation>无法读取的文件</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Index again</source>
    <translation>重新建立索引</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Index now</source>
    <translation>立即建立索引</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Looking for files…</source>
    <translation>正在查找文件…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Name of the collection</source>
    <translation>集合的名称</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>New collection from a folder…</source>
    <translation>从文件夹新建集合…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>No folder</source>
    <translation>没有文件夹</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Not available now: {folders}</source>
    <translation>目前不可用：{folders}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Paused</source>
    <translation>已暂停</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Paused · {files}</source>
    <translation>已暂停 · {files}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Progress of {name}</source>
    <translation>{name} 的进度</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Remove folder</source>
    <translation>移除文件夹</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Remove the folder {folder}</source>
    <translation>移除文件夹 {folder}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Up to date · {files}</source>
    <translation>已是最新 · {files}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Waiting until the computer is idle</source>
    <translation>等待电脑空闲</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>Waiting until the computer is plugged in</source>
    <translation>等待接通电源</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>more files than can be indexed</source>
    <translation>文件过多，无法全部建立索引</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>{action}: {name}</source>
    <translation>{action}：{name}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>{done:,} of {files} read</source>
    <translation>已读取 {done:,} / {files}</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <source>{n} cannot be read</source>
    <extracomment>n = 1: {n} cannot be read</extracomment>
    <translation><numerusform>{n} 个无法读取</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/guide.py"/>
    <source>Using Chickadee</source>
    <translation>Chickadee 使用指南</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Chats to import</source>
    <translation>要导入的对话</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Chickadee looks for chats of {programs}. For an export of {exporting}, choose the file. The originals stay unchanged.</source>
    <translation>Chickadee 会查找 {programs} 的对话。如果是 {exporting} 的导出文件，请手动选择。原有数据不会改动。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Choose a file…</source>
    <translation>选择文件…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Import</source>
    <translation>导入</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Import chats</source>
    <translation>导入对话</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Import {n} chats</source>
    <extracomment>n = 1: Import {n} chat</extracomment>
    <translation><numerusform>导入 {n} 个对话</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Looking for chats…</source>
    <translation>正在查找对话…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Looking for chats… {n:,} so far</source>
    <translation>正在查找对话…已找到 {n:,} 个</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>No chats of other programs were found. Choose a file that you have exported.</source>
    <translation>未找到其他程序的对话。请选择你导出的文件。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>Select the programs or chats to import. Importing again makes no duplicates.</source>
    <translation>勾选要导入的程序或对话。重复导入不会产生副本。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/import_dialog.py"/>
    <source>{n} more files cannot be read.</source>
    <extracomment>n = 1: {n} more file cannot be read.</extracomment>
    <translation><numerusform>另有 {n} 个文件无法读取。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_tree.py"/>
    <source>Chat</source>
    <translation>对话</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_tree.py"/>
    <source>Last message</source>
    <translation>最后一条消息</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_tree.py"/>
    <source>{program}: {file}</source>
    <translation>{program}：{file}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Add</source>
    <translation>添加</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Chats in which this is known</source>
    <translation>在哪些对话中告知</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Fact</source>
    <translation>内容</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Forget</source>
    <translation>忘记</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>In all chats</source>
    <translation>所有对话</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Models read these sentences before each chat that is not temporary. Nothing else is remembered.</source>
    <translation>模型在每个非临时对话开始前读取这些句子。除此之外不记住任何内容。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Nothing is remembered about you.</source>
    <translation>没有记住任何关于你的内容。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Proposed fact</source>
    <translation>提出的内容</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Refuse</source>
    <translation>拒绝</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Remember</source>
    <translation>记住</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>Something to remember</source>
    <translation>要记住的内容</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <source>The model proposes:</source>
    <translation>模型提出：</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Arabic</source>
    <translation>阿拉伯语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Bengali</source>
    <translation>孟加拉语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Chat template</source>
    <translation>对话模板</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Chinese</source>
    <translation>中文</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Czech</source>
    <translation>捷克语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Danish</source>
    <translation>丹麦语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Dutch</source>
    <translation>荷兰语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>English</source>
    <translation>英语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>File</source>
    <translation>文件</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Finnish</source>
    <translation>芬兰语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>French</source>
    <translation>法语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Full text: {address}</source>
    <translation>全文：{address}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>German</source>
    <translation>德语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Good at</source>
    <translation>擅长</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Greek</source>
    <translation>希腊语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Hebrew</source>
    <translation>希伯来语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Hindi</source>
    <translation>印地语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Hungarian</source>
    <translation>匈牙利语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Indonesian</source>
    <translation>印度尼西亚语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>It is small: expect many wrong calls.</source>
    <translation>模型较小：错误的调用会很多。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>It was not trained with tools: expect some wrong calls.</source>
    <translation>没有受过使用工具的训练：会有一些错误的调用。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Italian</source>
    <translation>意大利语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Japanese</source>
    <translation>日语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Korean</source>
    <translation>韩语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Languages</source>
    <translation>语言</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Licence</source>
    <translation>许可证</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Malay</source>
    <translation>马来语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Norwegian</source>
    <translation>挪威语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Origin</source>
    <translation>来源</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Own drafter</source>
    <translation>自带起草器</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Own kernels</source>
    <translation>自有内核</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Persian</source>
    <translation>波斯语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Polish</source>
    <translation>波兰语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Portuguese</source>
    <translation>葡萄牙语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Quality</source>
    <translation>质量</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Recommended settings</source>
    <translation>推荐设置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Romanian</source>
    <translation>罗马尼亚语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Russian</source>
    <translation>俄语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Spanish</source>
    <translation>西班牙语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Swedish</source>
    <translation>瑞典语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Thai</source>
    <translation>泰语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>The file does not say</source>
    <translation>文件未注明</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Turkish</source>
    <translation>土耳其语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Ukrainian</source>
    <translation>乌克兰语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Urdu</source>
    <translation>乌尔都语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Vietnamese</source>
    <translation>越南语</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>its own</source>
    <translation>自带</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>no: for {quantisation} the library's are used</source>
    <translation>不支持：{quantisation} 使用库自带的内核</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>no: its recurrent layers cannot take back wrong drafts</source>
    <translation>不支持：循环层无法撤回错误的草稿</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>none; ChatML is used</source>
    <translation>无，使用 ChatML</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>pictures (a second file of 0.2 to 1 GB comes along)</source>
    <translation>看图片（会同时下载 0.2 到 1 GB 的第二个文件）</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>thinking first</source>
    <translation>先思考再回答</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>trained to use them</source>
    <translation>受过使用工具的训练</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>up to {n:,} tokens of context</source>
    <translation>上下文最多 {n:,} 个词元</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>vocabulary of {n:,} tokens</source>
    <translation>词表 {n:,} 个词元</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>writing code</source>
    <translation>写代码</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>yes</source>
    <translation>支持</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>{n} layers</source>
    <translation>{n} 层</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>{n} of 10 ({source})</source>
    <translation>{n}/10（{source}）</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>{n} of them for each token</source>
    <translation>每个词元使用 {n}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>{n} parameters</source>
    <translation>{n} 参数</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Available only with an account on huggingface.co.</source>
    <translation>仅对 huggingface.co 的注册用户提供。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Best for this computer</source>
    <translation>最适合本机</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Cancelled</source>
    <translation>已取消</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Connecting</source>
    <translation>正在连接</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Connection lost; retrying</source>
    <translation>连接中断，正在重试</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Done</source>
    <translation>完成</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Downloading</source>
    <translation>正在下载</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Downloads</source>
    <translation>下载</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Edit server…</source>
    <translation>编辑服务器…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Faster</source>
    <translation>更快</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Hide</source>
    <translation>隐藏</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <location filename="../../app/dialogs/model_options.py"/>
    <source>Load</source>
    <translation>加载</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Loading…</source>
    <translation>正在加载…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>On servers</source>
    <translation>在服务器上</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Options…</source>
    <translation>选项…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Recommended</source>
    <translation>推荐</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Results from huggingface.co</source>
    <translation>huggingface.co 的搜索结果</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Show files</source>
    <translation>显示文件</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Stopped</source>
    <translation>已停止</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Unload</source>
    <translation>卸载</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Verifying</source>
    <translation>正在校验</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Waiting</source>
    <translation>等待中</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>added by you</source>
    <translation>由你添加</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>being loaded</source>
    <translation>正在加载</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>built in</source>
    <translation>内置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>chats are sent there</source>
    <translation>对话会发送到那里</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>downloaded</source>
    <translation>已下载</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>from GPT4All</source>
    <translation>来自 GPT4All</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>from Jan</source>
    <translation>来自 Jan</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>from LM Studio</source>
    <translation>来自 LM Studio</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>from Ollama</source>
    <translation>来自 Ollama</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>from llama.cpp</source>
    <translation>来自 llama.cpp</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>from the Hugging Face cache</source>
    <translation>来自 Hugging Face 缓存</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>in use</source>
    <translation>使用中</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>not encrypted</source>
    <translation>未加密</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>on this computer</source>
    <translation>本机已有</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>{done} of {total}</source>
    <translation>{done} / {total}</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/model_list.py"/>
    <source>{n} downloads</source>
    <extracomment>n = 1: {n} download</extracomment>
    <translation><numerusform>{n} 次下载</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>{size}, and {more} to see pictures</source>
    <translation>{size}，另加 {more} 用于看图片</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>{speed}/s</source>
    <translation>{speed}/秒</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_options.py"/>
    <source>Options for {model}</source>
    <translation>{model} 的选项</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_options.py"/>
    <source>Use global settings</source>
    <translation>使用全局设置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Any language</source>
    <translation>任何语言</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Check for new models</source>
    <translation>检查新模型</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Checking which models suit this computer…</source>
    <translation>正在检查哪些模型适合这台电脑…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Chickadee connects to huggingface.co only to search for models, to download them and to check for new ones. It sends your search words and the names of models.</source>
    <translation>Chickadee 只在搜索、下载和检查新模型时连接 huggingface.co，发送的只有搜索词和模型名称。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Connect to a server…</source>
    <translation>连接到服务器…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Find a model</source>
    <translation>查找模型</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Fits</source>
    <translation>可运行</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Hide details</source>
    <translation>收起详情</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>No results on this computer. Try searching huggingface.co.</source>
    <translation>本机无结果。可尝试搜索 huggingface.co。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Pictures</source>
    <translation>看图</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Search huggingface.co</source>
    <translation>搜索 huggingface.co</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Searching…</source>
    <translation>正在搜索…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Thinking</source>
    <translation>思考</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Add files…</source>
    <translation>添加文件…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Files</source>
    <translation>文件</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Model of new chats</source>
    <translation>新对话的模型</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Project “{name}”</source>
    <translation>项目“{name}”</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Search a folder instead…</source>
    <translation>改为搜索文件夹…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>The loaded model</source>
    <translation>已载入的模型</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>These collections are searched for each question.</source>
    <translation>每个问题都会搜索这些集合。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Up to {most} files of text, which the model reads before each chat, and only once.</source>
    <translation>最多 {most} 个文本文件，模型在每个对话开始前读取，且只读一次。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Any server with OpenAI's API: vLLM, SGLang, llama-server, Ollama, LM Studio, LiteLLM, or a hosted one. In each chat you are asked before the first message is sent there.</source>
    <translation>任何提供 OpenAI API 的服务器：vLLM、SGLang、llama-server、Ollama、LM Studio、LiteLLM 或托管服务。每个对话在首次向那里发送消息之前，都会先询问你。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Connect to a server</source>
    <translation>连接到服务器</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Delete key</source>
    <translation>删除密钥</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Edit server</source>
    <translation>编辑服务器</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>It has {n} models.</source>
    <extracomment>n = 1: It has {n} model.</extracomment>
    <translation><numerusform>它有 {n} 个模型。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Models to list</source>
    <translation>要列出的模型</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Name</source>
    <translation>名称</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Not encrypted: others in the network can read your messages. Use https:// if you can.</source>
    <translation>未加密：网络中的其他人能读到你的消息。如果可以，请使用 https://。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Remove server</source>
    <translation>移除服务器</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Test</source>
    <translation>测试</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>Testing…</source>
    <translation>正在测试…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>The server answers.</source>
    <translation>服务器有响应。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>This is {software}.</source>
    <translation>这是 {software}。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>for example: Office</source>
    <translation>例如：办公室</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>if the server requires one</source>
    <translation>如果服务器需要</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>saved in a file that only you can read</source>
    <translation>已保存在只有你能读取的文件中</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>saved in the system's keyring</source>
    <translation>已保存在系统密钥环中</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <source>{n:,} tokens of context</source>
    <translation>上下文 {n:,} 个词元</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <source>Choose a folder</source>
    <translation>选择文件夹</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <source>Choose…</source>
    <translation>选择…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <source>Reset</source>
    <translation>重置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <source>Reset {setting}</source>
    <translation>重置{setting}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <source>Restore the default: {setting}</source>
    <translation>恢复默认值：{setting}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <source>This must be {allowed}.</source>
    <translation>此处应为{allowed}。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <source>Go to: {section}</source>
    <translation>转到：{section}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <source>Open file</source>
    <translation>打开文件</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <source>Recommended by the makers of {model}. A value that you set here applies to all models.</source>
    <translation>这是 {model} 的开发者推荐的值。你自己设置的值对所有模型生效。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <source>Restore defaults</source>
    <translation>恢复默认设置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <source>Search settings</source>
    <translation>搜索设置</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <source>Undo restore</source>
    <translation>撤销恢复</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <source>Import…</source>
    <translation>导入…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <source>New</source>
    <translation>新建</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <source>Restore the built-in ones</source>
    <translation>恢复内置片段</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <source>Text</source>
    <translation>内容</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <source>Type / at the beginning of a message to find a snippet.</source>
    <translation>在消息开头输入 / 即可查找片段。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <source>{{clipboard}}, {{selection}}, {{date}} and {{time}} are filled in automatically. You are asked for any other name in double braces: {{recipient}}, or {{language=English}} with a suggestion.</source>
    <translation>{{clipboard}}（剪贴板）、{{selection}}（选中的文字）、{{date}}（日期）和 {{time}}（时间）会自动填入。双花括号中的其他名称会在插入时询问，例如 {{收件人}}，或带建议值的 {{语言=英语}}。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>Date</source>
    <translation>日期</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>Insert</source>
    <translation>插入</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>No text is selected.</source>
    <translation>没有选中文字。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>Nothing is sent yet: the text goes into the message, where you can change it.</source>
    <translation>此时不会发送：文字会放入消息中，你可以继续修改。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>Selected text</source>
    <translation>选中的文字</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>Text from the clipboard</source>
    <translation>剪贴板中的文字</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>The clipboard has no text.</source>
    <translation>剪贴板中没有文字。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <source>Time</source>
    <translation>时间</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/source_dialog.py"/>
    <source>Open the file</source>
    <translation>打开文件</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/source_dialog.py"/>
    <source>Reading the file…</source>
    <translation>正在读取文件…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/source_dialog.py"/>
    <source>The file has changed. This is what the model read.</source>
    <translation>文件已更改。以下是模型读到的内容。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>Delete {kind}</source>
    <translation>删除{kind}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>Delete…</source>
    <translation>删除…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>Empty</source>
    <translation>空</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>Everything stays on this computer, in files that only you can read.</source>
    <translation>所有内容都留在这台电脑上，保存在只有你能读取的文件中。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>Open folder</source>
    <translation>打开文件夹</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>Open folder: {kind}</source>
    <translation>打开文件夹：{kind}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <source>{files}, {size}</source>
    <translation>{files}，{size}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>A server of tools (MCP) is a program that you have installed, or an address. Enter the command that starts it, its address, or the JSON that its instructions give (“mcpServers”).</source>
    <translation>工具服务器（MCP）是你安装的程序，或一个地址。请输入启动它的命令、它的地址，或其说明中给出的 JSON（“mcpServers”）。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Add a tool server</source>
    <translation>添加工具服务器</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Command, address or JSON</source>
    <translation>命令、地址或 JSON</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Edit tool server</source>
    <translation>编辑工具服务器</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Folders that it may also change</source>
    <translation>还可以更改的文件夹</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Folders that it may read, one per line</source>
    <translation>可以读取的文件夹，每行一个</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>May use the network</source>
    <translation>可以使用网络</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>This command downloads the server when it starts, so that it needs the network.</source>
    <translation>此命令在启动时下载服务器，因此需要网络。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>Variables or key, one NAME=value per line</source>
    <translation>变量或密钥，每行一个 NAME=值</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>What it is asked, and what the model sends it, goes to {host}.</source>
    <translation>向它提出的请求以及模型发送给它的内容会传到 {host}。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <source>for example: Clock</source>
    <translation>例如：时钟</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Add a tool server…</source>
    <translation>添加工具服务器…</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Add {n} servers of {program}</source>
    <extracomment>n = 1: Add {n} server of {program}</extracomment>
    <translation><numerusform>添加 {program} 的 {n} 个服务器</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Edit…</source>
    <translation>编辑…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Has no folders</source>
    <translation>没有文件夹</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>It has ended, and is started again in a moment</source>
    <translation>它已结束，稍后会再次启动</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Its tools take {tokens:,} tokens of your {n_ctx:,} in each chat that uses it.</source>
    <translation>在每个使用它的对话中，它的工具占用 {n_ctx:,} 个词元中的 {tokens:,} 个。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Log</source>
    <translation>日志</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>May read {folders}</source>
    <translation>可以读取 {folders}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Press Test to see its tools</source>
    <translation>按“测试”查看它的工具</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Running</source>
    <translation>正在运行</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Servers give a model more tools. Each runs only while a chat uses it, may open only the folders that you name, and has no network unless you allow it. What it says is a stranger's text. You are asked before a tool acts.</source>
    <translation>服务器为模型提供更多工具。每个服务器只在对话使用它时运行，只能打开你指定的文件夹，未经你允许不能使用网络。它说的话是陌生人的文字。工具执行操作前会先询问你。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Start anyway</source>
    <translation>仍然启动</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Starting…</source>
    <translation>正在启动…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Starts when a chat needs it</source>
    <translation>对话需要时启动</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>The log is empty.</source>
    <translation>日志为空。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Tool servers (MCP)</source>
    <translation>工具服务器（MCP）</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>Use {name}</source>
    <translation>使用 {name}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>may change {folders}</source>
    <translation>可以更改 {folders}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>may use the network</source>
    <translation>可以使用网络</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>no network</source>
    <translation>没有网络</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>only reads</source>
    <translation>只读取</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>{name} only reads: do not ask me</source>
    <translation>{name} 只读取：不必询问我</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>{n} cannot be used</source>
    <extracomment>n = 1: {n} cannot be used</extracomment>
    <translation><numerusform>{n} 个无法使用</numerusform></translation>
  </message>
</context>
<context>
  <name>markdown</name>
  <message>
    <location filename="../../app/markdown/block_stack.py"/>
    <source>Your message</source>
    <translation>你的消息</translation>
  </message>
  <message>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Copied</source>
    <translation>已复制</translation>
  </message>
  <message>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Show all {lines} lines</source>
    <translation>显示全部 {lines} 行</translation>
  </message>
  <message>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Show less</source>
    <translation>收起</translation>
  </message>
  <message>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Wrap lines</source>
    <translation>自动换行</translation>
  </message>
  <message>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Wrap long lines of code</source>
    <translation>长代码行自动换行</translation>
  </message>
  <message>
    <location filename="../../app/markdown/document.py"/>
    <source>[picture: {name}]</source>
    <translation>[图片：{name}]</translation>
  </message>
  <message>
    <location filename="../../app/markdown/document.py"/>
    <source>picture</source>
    <translation>图片</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>Open in browser</source>
    <translation>在浏览器中打开</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>This address is on your computer or your local network.</source>
    <translation>此地址位于你的电脑或本地网络中。</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>This link opens {host} in your browser: {address}</source>
    <translation>此链接将在浏览器中打开 {host}：{address}</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>This link was not opened because it does not lead to a web page: {address}</source>
    <translation>此链接未打开，因为它指向的不是网页：{address}</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>This link was not opened because it is a disguised file, not a web page: {address}</source>
    <translation>此链接未打开，因为它是伪装的文件而非网页：{address}</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>This link was not opened because it is a program, not a web page: {address}</source>
    <translation>此链接未打开，因为它是程序而非网页：{address}</translation>
  </message>
  <message>
    <location filename="../../app/markdown/guard.py"/>
    <source>This link was not opened because it leads to a file on a computer, not a web page: {address}</source>
    <translation>此链接未打开，因为它指向电脑上的文件而非网页：{address}</translation>
  </message>
  <message>
    <location filename="../../app/markdown/spoken.py"/>
    <source>Code block.</source>
    <translation>代码块。</translation>
  </message>
  <message>
    <location filename="../../app/markdown/table_view.py"/>
    <source>Table</source>
    <translation>表格</translation>
  </message>
</context>
<context>
  <name>messages</name>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A KV cache stored as {kv_type} needs flash attention: leave it on, or store the cache as f16.</source>
    <extracomment>bad_option.flash_attention</extracomment>
    <translation>以 {kv_type} 存储的 KV 缓存需要 Flash Attention：请保持开启，或改用 f16。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A context of up to {n_ctx:,} tokens would fit (KV cache {kv_type}).</source>
    <extracomment>plan.context_would_fit</extracomment>
    <translation>最多可容纳 {n_ctx:,} 个词元的上下文（KV 缓存 {kv_type}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A context of {n_ctx:,} tokens is too small to calibrate.</source>
    <extracomment>context_too_small.to_calibrate</extracomment>
    <translation>{n_ctx:,} 个词元的上下文太小，无法校准。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A grammar and tools cannot be used together. Use a JSON schema, or no tools.</source>
    <extracomment>bad_constraint.with_tools</extracomment>
    <translation>语法和工具不能同时使用。请改用 JSON Schema，或不用工具。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A graphics processor</source>
    <extracomment>device.unknown</extracomment>
    <translation>显卡</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A model on a server cannot do this.</source>
    <extracomment>local_only.request</extracomment>
    <translation>服务器上的模型无法做到这一点。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A picture's file is damaged. Remove the picture, and add it again.</source>
    <extracomment>bad_picture.damaged</extracomment>
    <translation>图片文件已损坏。请移除该图片并重新添加。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A picture's file is missing. Remove the picture, and add it again.</source>
    <extracomment>bad_picture.missing</extracomment>
    <translation>图片文件缺失。请移除该图片并重新添加。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A port is a number from 0 to 65535, not {port}.</source>
    <extracomment>api.bad_port</extracomment>
    <translation>端口是 0 到 65535 之间的数字，而不是 {port}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A request to the planner must name a model file or an estimate.</source>
    <extracomment>planner.no_model</extracomment>
    <translation>向规划程序发送的请求须指明模型文件或估算。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>A schema or grammar may have {most:,} characters, and this one has more.</source>
    <extracomment>bad_constraint.long</extracomment>
    <translation>Schema 或语法最多 {most:,} 个字符，这个超出了。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>An earlier schema or grammar is still being prepared. Try again in a minute.</source>
    <extracomment>busy.constraint</extracomment>
    <translation>之前的 Schema 或语法仍在准备中。请过一分钟再试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Another program is using the file with your chats, {path}. Close it and try again.</source>
    <extracomment>store_locked.file</extracomment>
    <translation>另一个程序正在使用对话文件 {path}。请关闭它后重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Chat {number} in {name} is damaged and was skipped.</source>
    <extracomment>import.left_out</extracomment>
    <translation>{name} 中的第 {number} 个对话已损坏，已跳过。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Checking {name} takes too long: the file may be damaged. Load it to check it completely.</source>
    <extracomment>slow_check.of_model</extracomment>
    <translation>检查 {name} 耗时过长：文件可能已损坏。加载时会完整检查。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Chickadee cannot write to its folder {folder}. Check its permissions and free space.</source>
    <extracomment>data_folder.locked</extracomment>
    <translation>Chickadee 无法写入它的文件夹 {folder}。请检查权限和剩余空间。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Chickadee cannot write to its folder {folder}: {reason}. Check its permissions and free space.</source>
    <extracomment>data_folder.unwritable</extracomment>
    <translation>Chickadee 无法写入它的文件夹 {folder}：{reason}。请检查权限和剩余空间。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Chickadee is already open. Its window is now in front.</source>
    <extracomment>start.already_open</extracomment>
    <translation>Chickadee 已经打开，窗口现已移到最前面。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Chickadee is already running but does not respond. Close it, then start it again.</source>
    <extracomment>already_running.hung</extracomment>
    <translation>Chickadee 已在运行，但没有响应。请关闭它，然后重新启动。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Choose the built-in engine (--backend graph), or another form of speculative decoding.</source>
    <extracomment>no_early_exit.choose_graph</extracomment>
    <translation>请选择内置引擎（--backend graph），或换一种推测解码方式。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Connections are turned off in the settings (network in {file}).</source>
    <extracomment>offline.settings</extracomment>
    <translation>设置中已关闭网络连接（{file} 的 network 小节）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Connections are turned off: {variable} is set.</source>
    <extracomment>offline.variable</extracomment>
    <translation>网络连接已关闭：设置了 {variable}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Contexts cannot be cached on the disk: {folder} cannot be written ({reason}).</source>
    <extracomment>cache_unwritable.folder</extracomment>
    <translation>无法将上下文缓存到磁盘：不能写入 {folder}（{reason}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Could not determine whether it fits: the planner ended early.</source>
    <extracomment>planner.ended</extracomment>
    <translation>无法判断是否能容纳：规划程序提前结束了。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Could not determine whether it fits; the log has the details.</source>
    <extracomment>planner.no_answer</extracomment>
    <translation>无法判断是否能容纳，详情见日志。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Dictation takes {needed:bytes} of memory, and {free:bytes} are free. Close other programs, or choose a smaller speech model in the settings.</source>
    <extracomment>dictation.memory</extracomment>
    <translation>听写需要 {needed:bytes} 内存，目前可用 {free:bytes}。请关闭其他程序，或在设置中选择较小的语音识别模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Early layers can draft only in a model with at least two layers whose heads keep every token. Turn off head compression, or choose another form of speculative decoding.</source>
    <extracomment>no_early_exit.whole_heads</extracomment>
    <translation>只有当模型至少有两层、且所有注意力头都保留每个词元时，模型前几层才能起草。请关闭注意力头压缩，或换一种推测解码方式。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Early layers can draft only when the model runs on the built-in engine. {how}</source>
    <extracomment>no_early_exit.other_library</extracomment>
    <translation>只有在由内置引擎运行模型时，模型前几层才能起草。{how}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Entry {number} in {name} cannot be read. Nothing was imported.</source>
    <extracomment>import.entry</extracomment>
    <translation>无法读取 {name} 中的第 {number} 项。未导入任何内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It belongs to LM Studio. Delete it there.</source>
    <extracomment>owner.lm_studio</extracomment>
    <translation>它属于 LM Studio。请在那里删除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It belongs to Ollama. Delete it there with `ollama rm {name}`.</source>
    <extracomment>owner.ollama</extracomment>
    <translation>它属于 Ollama。请在那里用 `ollama rm {name}` 删除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It contains only a vocabulary, no model.</source>
    <extracomment>kind.vocabulary</extracomment>
    <translation>它只包含词表，不含模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It has no chat template, so it continues texts rather than answering.</source>
    <extracomment>kind.base</extracomment>
    <translation>它没有对话模板，只会续写文本，不会回答。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is a diffusion model, which writes all words at once. That is not supported yet.</source>
    <extracomment>kind.diffusion</extracomment>
    <translation>它是扩散模型，会一次写出全部文字，目前尚不支持。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is an adapter (LoRA), an addition to a model. Choose the model itself.</source>
    <extracomment>kind.adapter</extracomment>
    <translation>它是适配器（LoRA），只是模型的附加部分。请选择模型本身。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is an embedding model: it compares texts and cannot answer.</source>
    <extracomment>kind.embedding</extracomment>
    <translation>它是嵌入模型，用于比较文本，不能回答。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is in llama.cpp's cache. Delete it there.</source>
    <extracomment>owner.llama_cpp</extracomment>
    <translation>它位于 llama.cpp 的缓存中。请在那里删除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is in the Hugging Face cache, which other programs use. Delete it there.</source>
    <extracomment>owner.hub</extracomment>
    <translation>它位于其他程序也在使用的 Hugging Face 缓存中。请在那里删除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is part of Chickadee and cannot be deleted.</source>
    <extracomment>owner.chickadee</extracomment>
    <translation>它是 Chickadee 自带的，不能删除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is part of a model that speaks, and cannot write answers.</source>
    <extracomment>kind.speech</extracomment>
    <translation>它是语音模型的一部分，不能写出回答。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It is the part of a model that reads pictures. Choose the model itself.</source>
    <extracomment>kind.image</extracomment>
    <translation>它是模型中读取图片的部分。请选择模型本身。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It only drafts for another model, and cannot answer. Choose that model.</source>
    <extracomment>kind.drafter</extracomment>
    <translation>它只为另一个模型起草，不能回答。请选择那个模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It translates text to text only and cannot chat.</source>
    <extracomment>kind.encoder</extracomment>
    <translation>它只能做文本到文本的转换，不能对话。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>It would fit with the KV cache stored as {kv_type}.</source>
    <extracomment>plan.would_fit</extracomment>
    <translation>若 KV 缓存以 {kv_type} 存储则可容纳。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Its file has no chat template, and Ollama's own form of one is not read, so it may continue texts rather than answering. Download the model here.</source>
    <extracomment>kind.base_ollama</extracomment>
    <translation>其文件中没有对话模板，而 Ollama 自己的模板格式无法读取，因此它可能续写文本而不是回答。请在此处下载该模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Leave out the oldest turn,</source>
    <extracomment>turns.leave_out</extracomment>
    <translation>可以略去最早的一轮对话，</translation>
  </message>
  <message numerus="yes">
    <location filename="../../common/messages.py"/>
    <source>Leave out the oldest {n} turns,</source>
    <extracomment>n = 1: Leave out the oldest turn,, turns.leave_out</extracomment>
    <translation><numerusform>可以略去最早的 {n} 轮对话，</numerusform></translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Lossy: {share:.0%} of the heads are compressed ({mode}); measured perplexity × {ratio:.3f}.</source>
    <extracomment>lossy.measured</extracomment>
    <translation>有损：{share:.0%} 的注意力头已压缩（{mode}）；测得困惑度 × {ratio:.3f}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Lossy: {share:.0%} of the heads are compressed ({mode}); the effect on quality was not measured.</source>
    <extracomment>lossy.unmeasured</extracomment>
    <translation>有损：{share:.0%} 的注意力头已压缩（{mode}）；尚未测量对质量的影响。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Memory is short: the context is only {n_ctx:,} tokens.</source>
    <extracomment>plan.short_context</extracomment>
    <translation>内存不足：上下文只有 {n_ctx:,} 个词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No context would fit: even the smallest needs {size:bytes}. Choose a smaller model.</source>
    <extracomment>plan.no_context</extracomment>
    <translation>无法容纳任何上下文：最小的也需要 {size:bytes}。请选择更小的模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No draft model is loaded. Choose one, or another form of speculative decoding.</source>
    <extracomment>no_draft_model.loaded</extracomment>
    <translation>未加载草稿模型。请选择一个，或换一种推测解码方式。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No microphone has “{name}” in its name. There are: {names}.</source>
    <extracomment>dictation.unknown_microphone</extracomment>
    <translation>没有名称中含有“{name}”的麦克风。现有：{names}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No microphone was found. Connect one, or look into the system's sound settings.</source>
    <extracomment>dictation.no_microphone</extracomment>
    <translation>没有找到麦克风。请连接一个，或查看系统的声音设置。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No model is loaded. Choose a model first.</source>
    <extracomment>no_model.loaded</extracomment>
    <translation>未加载模型。请先选择一个模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No text fits the grammar, or the grammar is too complex. Simplify it.</source>
    <extracomment>bad_constraint.dead_end</extracomment>
    <translation>没有文本符合这个语法，或者它过于复杂。请简化它。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>No words were recognised. Speak closer to the microphone, or choose another one.</source>
    <extracomment>dictation.no_words</extracomment>
    <translation>没有识别出任何话。请靠近麦克风说话，或换一个麦克风。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Nothing answers at {host}. Check the address, and that the server is running.</source>
    <extracomment>no_connection.server_refused</extracomment>
    <translation>{host} 没有响应。请检查地址，并确认服务器正在运行。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Nothing was heard. The microphone may be muted, or the system may not allow Chickadee to use it.</source>
    <extracomment>dictation.silence</extracomment>
    <translation>什么也没听到。麦克风可能被静音，或者系统不允许 Chickadee 使用它。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Of the memory of {device}, {size:bytes} are taken.</source>
    <extracomment>plan.device</extracomment>
    <translation>占用 {device} 的 {size:bytes} 显存。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Of this, {size:bytes} are for pictures; they are taken when the first one is read. A picture of 1,024 × 768 pixels takes about {tokens:,} tokens of the context.</source>
    <extracomment>plan.projector</extracomment>
    <translation>其中 {size:bytes} 用于图片，在读取第一张图片时才占用。一张 1,024 × 768 像素的图片约占上下文的 {tokens:,} 个词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Only the built-in engine supports --kv {mode}, not {backend}.</source>
    <extracomment>bad_option.kv_mode</extracomment>
    <translation>只有内置引擎支持 --kv {mode}，{backend} 不支持。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Only the engine that asks servers can do this.</source>
    <extracomment>server_only.request</extracomment>
    <translation>只有向服务器发送请求的引擎才能做到这一点。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Other computers could reach {host}, so the API needs a key: add --key, or listen at 127.0.0.1.</source>
    <extracomment>api.needs_key</extracomment>
    <translation>其他电脑可以访问 {host}，因此 API 需要密钥：请加上 --key，或改用 127.0.0.1。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Pictures need {size:bytes} of memory for {name}, which are not free. Close other programs, or ask without pictures.</source>
    <extracomment>out_of_memory.projector</extracomment>
    <translation>图片需要 {size:bytes} 内存来加载 {name}，目前没有这么多空闲内存。请关闭其他程序，或不带图片提问。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Prompts: {device}, which was not timed yet; writing: processor.</source>
    <extracomment>device.untimed_prompts</extracomment>
    <translation>读取提示词：{device}（尚未测速）；生成：处理器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Prompts: {device}, {reads} against {read}; writing: processor.</source>
    <extracomment>device.prompts</extracomment>
    <translation>读取提示词：{device}，{reads}，处理器为 {read}；生成：处理器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Prompts: {device}, {reads} against {read}; writing: the same, {writes} against {wrote}.</source>
    <extracomment>device.all</extracomment>
    <translation>读取提示词：{device}，{reads}，处理器为 {read}；生成：同样由它完成，{writes}，处理器为 {wrote}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Shorten the message,</source>
    <extracomment>turns.shorten</extracomment>
    <translation>可以缩短消息，</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Something went wrong inside Chickadee; the log has the details.</source>
    <extracomment>internal.window</extracomment>
    <translation>Chickadee 内部出错，详情见日志。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Something went wrong inside the engine; the log has the details. Try again.</source>
    <extracomment>internal.engine</extracomment>
    <translation>引擎内部出错，详情见日志。请重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Something went wrong; the log has the details.</source>
    <extracomment>internal.download</extracomment>
    <translation>出错了，详情见日志。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The API cannot listen at {address}: {reason}.</source>
    <extracomment>api.no_address</extracomment>
    <translation>API 无法在 {address} 上监听：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The API key may have only ASCII letters, digits and punctuation, without spaces or line breaks: programs cannot send other ones.</source>
    <extracomment>api.bad_key</extracomment>
    <translation>API 密钥只能由 ASCII 字母、数字和标点组成，不能有空格或换行：程序无法发送其他字符。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The JSON schema cannot be used: {reason}.</source>
    <extracomment>bad_constraint.schema</extracomment>
    <translation>无法使用这个 JSON Schema：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The KV cache starts small and grows with the chat; the numbers are for a full context.</source>
    <extracomment>plan.grows</extracomment>
    <translation>KV 缓存从小开始，随对话增长；以上数字按上下文全满计算。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The address of {address} contains a password or a question mark. Remove them; the key has its own field.</source>
    <extracomment>bad_option.server_parts</extracomment>
    <translation>{address} 的地址中含有密码或问号。请去掉它们；密钥有单独的输入框。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The answer so far does not fit the schema or grammar.</source>
    <extracomment>bad_constraint.continued</extracomment>
    <translation>已有的回答不符合 Schema 或语法。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The attention heads of {name} have not been ranked yet. Rank them with benchmarks.rank_heads --kv {mode} --model {path} in Chickadee's source code.</source>
    <extracomment>no_ranking.of_model</extracomment>
    <translation>{name} 的注意力头尚未排名。请在 Chickadee 的源代码中用 benchmarks.rank_heads --kv {mode} --model {path} 进行排名。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The built-in engine cannot run this model: {reason}. llama.cpp can.</source>
    <extracomment>graph.cannot_run</extracomment>
    <translation>内置引擎无法运行此模型：{reason}。llama.cpp 可以。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The built-in engine needs flash attention: leave it on, or choose llama.cpp.</source>
    <extracomment>not_supported.without_flash_attention</extracomment>
    <translation>内置引擎需要 Flash Attention：请保持开启，或选择 llama.cpp。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The built-in model is missing from this installation. Install Chickadee again.</source>
    <extracomment>no_such_file.built_in</extracomment>
    <translation>此安装缺少内置模型。请重新安装 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The cached context could not be written to {file}: {reason}.</source>
    <extracomment>cache_unwritable.file</extracomment>
    <translation>无法将上下文缓存写入 {file}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The cached context {file} does not match this model and its head compression.</source>
    <extracomment>cache_unusable.other_heads</extracomment>
    <translation>上下文缓存 {file} 与此模型及其注意力头压缩方式不符。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The cached context {file} does not match this model.</source>
    <extracomment>cache_unusable.other_model</extracomment>
    <translation>上下文缓存 {file} 与此模型不符。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The cached context {file} is damaged.</source>
    <extracomment>cache_unusable.damaged</extracomment>
    <translation>上下文缓存 {file} 已损坏。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The catalogue of models is missing from this installation. Install Chickadee again.</source>
    <extracomment>no_such_file.catalogue</extracomment>
    <translation>此安装缺少模型目录。请重新安装 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The catalogue of models on {host} has errors, so the one on this computer is kept.</source>
    <extracomment>refused.catalogue</extracomment>
    <translation>{host} 上的模型目录有错误，因此保留本机现有的目录。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The catalogue that was fetched is damaged, so the one that came with Chickadee is used. Check for new models again.</source>
    <extracomment>bad_catalogue.here</extracomment>
    <translation>获取的模型目录已损坏，因此改用 Chickadee 自带的目录。请重新检查新模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The common phrases are missing from this installation. Install Chickadee again.</source>
    <extracomment>no_such_file.phrases</extracomment>
    <translation>此安装缺少常用短语。请重新安装 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The common phrases in this installation are damaged. Install Chickadee again.</source>
    <extracomment>no_such_file.phrases_damaged</extracomment>
    <translation>此安装中的常用短语已损坏。请重新安装 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The computer's memory is full. Close other programs or load a smaller model.</source>
    <extracomment>out_of_memory.computer</extracomment>
    <translation>电脑内存已满。请关闭其他程序，或加载更小的模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The connection to {host} broke off.</source>
    <extracomment>no_connection.server_cut</extracomment>
    <translation>与 {host} 的连接中断了。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The connection to {host} is not safe: its certificate cannot be trusted. Check this computer's clock.</source>
    <extracomment>refused.certificate</extracomment>
    <translation>与 {host} 的连接不安全：其证书不可信。请检查本机时钟。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The connection to {host} is not safe: {reason}.</source>
    <extracomment>refused.server_certificate</extracomment>
    <translation>与 {host} 的连接不安全：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The desktop took no screenshot. Allow it in the system's privacy settings.</source>
    <extracomment>no_screenshot.portal</extracomment>
    <translation>桌面没有截取屏幕。请在系统的隐私设置中允许这一操作。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The disk is full, so this chat cannot be saved. Free some space.</source>
    <extracomment>disk_full.chats</extracomment>
    <translation>磁盘已满，无法保存此对话。请释放一些空间。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The disk is full, so {name} was not copied. Free some space.</source>
    <extracomment>disk_full.copied</extracomment>
    <translation>磁盘已满，{name} 未复制。请释放一些空间。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The disk is full. Free some space, then resume {name}: the part already downloaded is kept.</source>
    <extracomment>disk_full.download</extracomment>
    <translation>磁盘已满。请释放空间后继续下载 {name}：已下载的部分会保留。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The disk is nearly full: contexts are no longer cached on it.</source>
    <extracomment>cache_full.disk</extracomment>
    <translation>磁盘即将写满：不再将上下文缓存到磁盘。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The draft model {name} is no smaller than the model it drafts for, so it is unlikely to make answers faster.</source>
    <extracomment>plan.large_draft</extracomment>
    <translation>草稿模型 {name} 不比主模型小，几乎不会带来加速。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The draft model {name} was not loaded: with it, {size:bytes} would be needed for a context of {n_ctx:,} tokens.</source>
    <extracomment>plan.without_draft</extracomment>
    <translation>未加载草稿模型 {name}：加上它，{n_ctx:,} 个词元的上下文需要 {size:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine accepts messages of up to {most:bytes}, and this one is longer.</source>
    <extracomment>bad_request.long</extracomment>
    <translation>引擎接收的消息最大为 {most:bytes}，而这一条更长。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine could not be started: {reason}.</source>
    <extracomment>engine_end.not_started</extracomment>
    <translation>无法启动引擎：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine crashed while it read a picture. Remove the picture or try another one; your next message starts the engine again.</source>
    <extracomment>engine_end.picture</extracomment>
    <translation>引擎在读取图片时崩溃。请移除该图片或换一张；你的下一条消息会重新启动引擎。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine crashed.</source>
    <extracomment>engine_end.crashed</extracomment>
    <translation>引擎崩溃了。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine did not respond, so it was closed; your next message restarts it.</source>
    <extracomment>engine_end.hung</extracomment>
    <translation>引擎没有响应，已被关闭；发送下一条消息时会重新启动。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine did not understand a message: {reason}.</source>
    <extracomment>bad_request.message</extracomment>
    <translation>引擎无法理解一条消息：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine ended unexpectedly (code {code}).</source>
    <extracomment>engine_end.code</extracomment>
    <translation>引擎意外退出（代码 {code}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine ended unexpectedly.</source>
    <extracomment>engine_end.unexpected</extracomment>
    <translation>引擎意外退出。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine may not read {name}. Move it to a models folder.</source>
    <extracomment>bad_model.out_of_reach</extracomment>
    <translation>引擎无权读取 {name}。请把它移到模型文件夹。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine sends up to {most:bytes} at once, and this is more. Ask for less.</source>
    <extracomment>bad_request.long_answer</extracomment>
    <translation>引擎一次最多发送 {most:bytes}，而这里更多。请减少请求的内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine sent a message that this window does not understand; their versions may differ. The log has the details.</source>
    <extracomment>protocol.unknown</extracomment>
    <translation>引擎发来了本窗口无法理解的内容；两者的版本可能不同。详情见日志。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine stopped because of an internal error.</source>
    <extracomment>engine_end.bug</extracomment>
    <translation>引擎因内部错误而中止。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine stopped: it was built for a newer processor than this one.</source>
    <extracomment>engine_end.processor</extracomment>
    <translation>引擎已停止：它是为更新的处理器构建的。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine stopped: the model file could no longer be read.</source>
    <extracomment>engine_end.file</extracomment>
    <translation>引擎已停止：无法继续读取模型文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine was closed by another program.</source>
    <extracomment>engine_end.closed</extracomment>
    <translation>引擎被另一个程序关闭。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine was stopped by signal {number}.</source>
    <extracomment>engine_end.signal</extracomment>
    <translation>引擎被信号 {number} 终止。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine was stopped by the system, most likely because memory ran out.</source>
    <extracomment>engine_end.killed</extracomment>
    <translation>引擎被系统终止，很可能是因为内存不足。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The engine's files are damaged: none of its kernels can be loaded. Install Chickadee again.</source>
    <extracomment>no_kernels.damaged</extracomment>
    <translation>引擎的文件已损坏：无法加载任何计算内核。请重新安装 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The entry “{name}” has no usable command or address.</source>
    <extracomment>tool_server.bad_entry</extracomment>
    <translation>条目“{name}”没有可用的命令或地址。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The file with your chats, {path}, is damaged. Restart Chickadee to recover what can be read.</source>
    <extracomment>store_damaged.file</extracomment>
    <translation>对话文件 {path} 已损坏。请重新启动 Chickadee，以恢复可读取的内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The file with your chats, {path}, is read-only. Allow writing to it and its folder.</source>
    <extracomment>store_readonly.file</extracomment>
    <translation>对话文件 {path} 为只读。请允许写入该文件及其所在文件夹。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The file with your chats, {path}, was moved or deleted while Chickadee was open, so nothing can be saved. Put it back.</source>
    <extracomment>store_gone.file</extracomment>
    <translation>存放对话的文件 {path} 在 Chickadee 打开期间被移动或删除，因此无法保存任何内容。请将其放回原处。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The file's name “{name}” cannot be used on this computer.</source>
    <extracomment>refused.file_name</extracomment>
    <translation>文件名“{name}”无法在本机使用。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The grammar cannot be used: {reason}.</source>
    <extracomment>bad_constraint.grammar</extracomment>
    <translation>无法使用这个语法：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The head ranking cannot be saved to {folder}: {reason}.</source>
    <extracomment>ranking_unwritable.folder</extracomment>
    <translation>无法将排名保存到 {folder}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The layers that the model brings to draft its next tokens could not be loaded: tokens are drafted from the chat.</source>
    <extracomment>own_drafter.not_loaded</extracomment>
    <translation>无法加载模型自带的起草层：将根据对话内容起草词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The list of model folders cannot be saved: {file} cannot be written ({reason}).</source>
    <extracomment>unwritable.folders</extracomment>
    <translation>无法保存模型文件夹列表：不能写入 {file}（{reason}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The list of tool servers ({file}) cannot be read: {reason}.</source>
    <extracomment>tool_server.unreadable</extracomment>
    <translation>无法读取工具服务器列表（{file}）：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The list of tool servers ({file}) cannot be stored: {reason}.</source>
    <extracomment>tool_server.unwritable</extracomment>
    <translation>无法保存工具服务器列表（{file}）：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The list of tool servers ({file}) is damaged. The next change renames it; nothing is lost.</source>
    <extracomment>tool_server.damaged</extracomment>
    <translation>工具服务器列表（{file}）已损坏。下次更改时会将其重命名，不会丢失任何内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The messages need {needed} tokens, the context holds {n_ctx:,}. Leave out the oldest ones, or shorten them.</source>
    <extracomment>prompt_too_long.messages</extracomment>
    <translation>这些消息需要 {needed} 个词元，上下文只能容纳 {n_ctx:,} 个。请去掉最早的消息，或缩短消息。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The microphone could not be opened. Allow Chickadee to use it in the system's privacy settings, or close the program that uses it.</source>
    <extracomment>dictation.refused</extracomment>
    <translation>无法打开麦克风。请在系统的隐私设置中允许 Chickadee 使用它，或关闭正在使用它的程序。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The microphone stopped. See whether it is still connected.</source>
    <extracomment>dictation.lost</extracomment>
    <translation>麦克风停止了。请查看它是否仍然连接。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model brings layers that draft its next tokens, but only llama.cpp can use them, not {library}: tokens are drafted from the chat.</source>
    <extracomment>own_drafter.library</extracomment>
    <translation>该模型自带起草层，但只有 llama.cpp 能使用它们，{library} 不能：将根据对话内容起草词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model brings layers that draft its next tokens, but this version of llama.cpp cannot use those of {architecture}: tokens are drafted from the chat.</source>
    <extracomment>own_drafter.unknown</extracomment>
    <translation>该模型自带起草层，但此版本的 llama.cpp 不能使用 {architecture} 的起草层：将根据对话内容起草词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model brings layers that draft its next tokens; they are loaded with it.</source>
    <extracomment>plan.own_layers</extracomment>
    <translation>该模型自带用于起草后续词元的层，会随模型一起加载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model can see, but pictures need {size:bytes} more memory than is available.</source>
    <extracomment>plan.projector_no_room</extracomment>
    <translation>此模型能看图片，但图片所需的内存比可用内存多 {size:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model can use {trained:,} tokens of context; no more fits.</source>
    <extracomment>plan.no_more_context</extracomment>
    <translation>该模型最多可用 {trained:,} 个词元的上下文；内存无法容纳更多。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model can use {trained:,} tokens of context; up to {fitting:,} tokens would fit.</source>
    <extracomment>plan.more_context</extracomment>
    <translation>该模型最多可用 {trained:,} 个词元的上下文；最多可容纳 {fitting:,} 个词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model cannot use this picture. Remove it, or try a smaller one.</source>
    <extracomment>bad_picture.refused</extracomment>
    <translation>模型无法使用此图片。请移除它，或换一张较小的图片。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model computes no valid numbers: its file is damaged. Download the model again.</source>
    <extracomment>bad_model.no_numbers</extracomment>
    <translation>模型算不出有效数值：文件已损坏。请重新下载该模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model failed to read this picture. Remove it, or try a smaller one.</source>
    <extracomment>bad_picture.encoder</extracomment>
    <translation>模型读取此图片时失败。请移除它，或换一张较小的图片。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model file contradicts itself, so it cannot be loaded.</source>
    <extracomment>bad_model.contradiction</extracomment>
    <translation>此模型文件的内容自相矛盾，无法加载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model has no chat template of its own; ChatML is used.</source>
    <extracomment>template.missing</extracomment>
    <translation>该模型没有自带的对话模板，已使用 ChatML。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model has no such tokens: their numbers must lie between 0 and {n_tokens:,}.</source>
    <extracomment>bad_prompt.tokens</extracomment>
    <translation>模型没有这样的词元：编号必须在 0 到 {n_tokens:,} 之间。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model includes its own drafter: layers that draft its next tokens.</source>
    <extracomment>own_drafter.included</extracomment>
    <translation>该模型自带起草器：用于起草后续词元的层。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model is on {host}. Other programs can ask models of this computer only.</source>
    <extracomment>api.on_server</extracomment>
    <translation>该模型位于 {host}。其他程序只能向这台电脑上的模型提问。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model was made with layers that draft its next tokens, but this file leaves them out: tokens are drafted from the chat.</source>
    <extracomment>own_drafter.left_out</extracomment>
    <translation>该模型在制作时带有起草层，但此文件未包含它们：将根据对话内容起草词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model was trained for {n_ctx:,} tokens of context; more than that is not used.</source>
    <extracomment>plan.trained</extracomment>
    <translation>该模型按 {n_ctx:,} 个词元的上下文训练；超出部分不会使用。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's chat template does not accept these messages: {reason}. Change them, or choose another model.</source>
    <extracomment>template.refuses</extracomment>
    <translation>该模型的对话模板不接受这些消息：{reason}。请修改消息，或选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's chat template is damaged ({reason}); ChatML is used.</source>
    <extracomment>template.damaged</extracomment>
    <translation>该模型的对话模板已损坏（{reason}），已使用 ChatML。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's chat template leaves pictures out. Remove them, or choose another model.</source>
    <extracomment>template.pictures</extracomment>
    <translation>该模型的对话模板会略去图片。请移除图片，或选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's chat template produces nothing for this chat. Choose another model.</source>
    <extracomment>template.empty</extracomment>
    <translation>该模型的对话模板没有为此对话生成任何内容。请选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's chat template takes too much time or memory. Choose another model.</source>
    <extracomment>template.endless</extracomment>
    <translation>该模型的对话模板占用过多时间或内存。请选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's vocabulary has no tokens for this chat. Choose another model.</source>
    <extracomment>template.unknown_tokens</extracomment>
    <translation>该模型的词表没有可用于此对话的词元。请选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The model's vocabulary is damaged: it has no token for some of the characters. Download the model again.</source>
    <extracomment>bad_model.missing_tokens</extracomment>
    <translation>模型的词表已损坏：其中缺少某些字符对应的词元。请重新下载模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The new catalogue cannot be saved: {path} cannot be written ({reason}).</source>
    <extracomment>unwritable.catalogue</extracomment>
    <translation>无法保存新的模型目录：无法写入 {path}（{reason}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The page at {host} is larger than {most:bytes}. Save a part of it, and attach that.</source>
    <extracomment>refused.page_large</extracomment>
    <translation>{host} 的网页大于 {most:bytes}。请保存其中一部分，再附上那一部分。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The parameters of the tool “{name}” cannot be used: {reason}.</source>
    <extracomment>bad_tools.parameters</extracomment>
    <translation>无法使用工具“{name}”的参数：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The picture is too large for the little memory that the model was loaded with. Try a smaller one, or load the model with more memory.</source>
    <extracomment>bad_picture.batch</extracomment>
    <translation>加载模型时的内存较少，此图片太大。请换一张较小的图片，或用更多内存加载模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The planner did not understand a question: {reason}.</source>
    <extracomment>planner.not_understood</extracomment>
    <translation>规划程序无法理解一个问题：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The process of the server has ended unexpectedly.</source>
    <extracomment>tool_server.crashed</extracomment>
    <translation>服务器的进程意外结束了。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes on battery: {device} is faster, but takes more energy (prompts {reads} against {read}, writing {writes} against {wrote}).</source>
    <extracomment>device.battery</extracomment>
    <translation>使用电池时由处理器计算：{device} 更快，但更耗电（读取提示词 {reads}，处理器为 {read}；生成 {writes}，处理器为 {wrote}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes until {device} was timed, which happens while the computer is idle.</source>
    <extracomment>device.not_timed</extracomment>
    <translation>在测出 {device} 的速度之前由处理器计算；测速在电脑空闲时进行。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes, as chosen.</source>
    <extracomment>device.off</extracomment>
    <translation>由处理器计算（按所选设置）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: it is not known how large the layers of this model are.</source>
    <extracomment>device.no_shapes</extracomment>
    <translation>由处理器计算：无法得知此模型各层的大小。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: no graphics processor has “{name}” in its name.</source>
    <extracomment>device.not_found</extracomment>
    <translation>由处理器计算：没有名称中含“{name}”的显卡。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: no graphics processor, or no Vulkan driver for one, was found.</source>
    <extracomment>device.none</extracomment>
    <translation>由处理器计算：未找到显卡，或没有它的 Vulkan 驱动程序。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: only llama.cpp can use a graphics processor, not {library}.</source>
    <extracomment>device.library</extracomment>
    <translation>由处理器计算：只有 llama.cpp 能使用显卡，{library} 不能。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: {device} is not faster (prompts {reads} against {read}, writing {writes} against {wrote}).</source>
    <extracomment>device.slower</extracomment>
    <translation>由处理器计算：{device} 并不更快（读取提示词 {reads}，处理器为 {read}；生成 {writes}，处理器为 {wrote}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: {device} could not be compared with it: it is gone, or memory is short.</source>
    <extracomment>device.not_checked</extracomment>
    <translation>由处理器计算：无法将 {device} 与处理器进行比较。设备已不在，或者内存不足。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: {device} is not there any more.</source>
    <extracomment>device.gone</extracomment>
    <translation>由处理器计算：{device} 已不存在。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: {device} is the processor itself, so it would be slower.</source>
    <extracomment>device.software</extracomment>
    <translation>由处理器计算：{device} 就是处理器本身，只会更慢。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The processor computes: {device} would need {size:bytes} more memory than is available.</source>
    <extracomment>device.no_room</extracomment>
    <translation>由处理器计算：{device} 所需内存比可用内存多 {size:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The program does not speak the Model Context Protocol: it writes something else.</source>
    <extracomment>tool_server.no_mcp</extracomment>
    <translation>该程序不使用模型上下文协议：它输出的是别的内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The program that recognises speech ended before its time. Try again.</source>
    <extracomment>dictation.recogniser</extracomment>
    <translation>语音识别程序意外结束。请重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The program that records ended before its time. Try again.</source>
    <extracomment>dictation.recorder</extracomment>
    <translation>录音程序意外结束。请重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The proxy {proxy} does not connect to {host}. Check this computer's proxy settings.</source>
    <extracomment>no_connection.proxy</extracomment>
    <translation>代理 {proxy} 无法连接到 {host}。请检查本机的代理设置。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The response from {host} does not end.</source>
    <extracomment>refused.endless</extracomment>
    <translation>{host} 的响应没有结束。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The results cannot be saved to {folder}: {reason}.</source>
    <extracomment>unwritable.results</extracomment>
    <translation>无法将结果保存到 {folder}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The schema or grammar cannot be used: {reason}.</source>
    <extracomment>bad_constraint.refused</extracomment>
    <translation>无法使用这个 Schema 或语法：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The schema or grammar takes more than {seconds:.0f} seconds to prepare. Simplify it.</source>
    <extracomment>bad_constraint.slow</extracomment>
    <translation>准备这个 Schema 或语法需要超过 {seconds:.0f} 秒。请简化它。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server could not be started: {reason}.</source>
    <extracomment>tool_server.no_start</extracomment>
    <translation>无法启动服务器：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server does not have the tool “{name}” any more.</source>
    <extracomment>tool_server.gone</extracomment>
    <translation>服务器不再提供工具“{name}”。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server gave no answer in time.</source>
    <extracomment>tool_server.slow</extracomment>
    <translation>服务器没有及时回答。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server has changed what it says about the tool “{name}”. Look at it in the settings, and ask again.</source>
    <extracomment>tool_server.changed</extracomment>
    <translation>服务器更改了对工具“{name}”的说明。请在设置中查看，然后重新提问。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server has ended. Its log may say why.</source>
    <extracomment>tool_server.closed</extracomment>
    <translation>服务器已结束。日志中可能有原因。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server says: {reason}</source>
    <extracomment>tool_server.refuses</extracomment>
    <translation>服务器说：{reason}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server was ended, because it sent a message of more than {most:bytes}.</source>
    <extracomment>tool_server.long_message</extracomment>
    <translation>服务器已被结束，因为它发送了一条超过 {most:bytes} 的消息。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server was ended, because it sent more than {most:bytes} without being asked.</source>
    <extracomment>tool_server.endless</extracomment>
    <translation>服务器已被结束，因为它在未被请求的情况下发送了超过 {most:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server was switched off.</source>
    <extracomment>tool_server.stopped</extracomment>
    <translation>服务器已关闭。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server's answer could not be understood ({reason}).</source>
    <extracomment>tool_server.not_understood</extracomment>
    <translation>无法理解服务器的回答（{reason}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server's key cannot be saved to {file}: {reason}.</source>
    <extracomment>keyring.unwritable</extracomment>
    <translation>无法将服务器的密钥保存到 {file}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The server's key is not in the keyring any more. Enter it again: Models, then Edit server.</source>
    <extracomment>keyring.no_key</extracomment>
    <translation>服务器的密钥已不在密钥环中。请重新输入：打开“模型”，然后选择“编辑服务器”。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The settings cannot be saved: {file} cannot be written ({reason}).</source>
    <extracomment>settings.unwritable</extracomment>
    <translation>无法保存设置：不能写入 {file}（{reason}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The snippets cannot be saved: {file} cannot be written ({reason}).</source>
    <extracomment>snippets.unwritable</extracomment>
    <translation>无法保存片段：无法写入 {file}（{reason}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The speech model cannot be read: {reason}.</source>
    <extracomment>dictation.unreadable</extracomment>
    <translation>无法读取语音识别模型：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The speech model {name} is damaged. Download it again.</source>
    <extracomment>dictation.damaged</extracomment>
    <translation>语音识别模型 {name} 已损坏。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The system stopped the process that was checking {name}, most likely because memory ran out.</source>
    <extracomment>out_of_memory.while_checking</extracomment>
    <translation>检查 {name} 的进程被系统终止，很可能是因为内存不足。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The system's keyring does not give the server's key. Unlock it, or enter the key again.</source>
    <extracomment>keyring.locked</extracomment>
    <translation>系统密钥环没有给出服务器的密钥。请解锁密钥环，或重新输入密钥。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The table of common phrases cannot be saved: {reason}.</source>
    <extracomment>unwritable.phrases</extracomment>
    <translation>无法保存常用短语表：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The tokens could not be counted.</source>
    <extracomment>internal.counting</extracomment>
    <translation>无法统计词元数。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The tokens of a cached context do not match its record.</source>
    <extracomment>cache_unusable.tokens</extracomment>
    <translation>上下文缓存的词元与其记录不符。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The tools' parameters may have {most:,} characters in all, and these have more.</source>
    <extracomment>bad_tools.long</extracomment>
    <translation>所有工具的参数合计最多 {most:,} 个字符，这里超出了。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The vocabulary of {name} cannot be read.</source>
    <extracomment>unreadable.vocabulary</extracomment>
    <translation>无法读取 {name} 的词表。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The window cannot open because a system library is missing: {names}. {how}</source>
    <extracomment>missing_library.of_system</extracomment>
    <translation>窗口无法打开，因为缺少系统库：{names}。{how}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>The window's libraries cannot be loaded; the system says: {reason}.</source>
    <extracomment>qt.libraries</extracomment>
    <translation>无法加载窗口所需的库，系统提示：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is another file named {name} in {folder}. Remove it first.</source>
    <extracomment>exists.other_file</extracomment>
    <translation>{folder} 中已有另一个名为 {name} 的文件。请先移除它。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no answer to continue: send a message first.</source>
    <extracomment>nothing_to_continue.no_answer</extracomment>
    <translation>没有可继续的回答：请先发送一条消息。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no connection to the server at this address.</source>
    <extracomment>tool_server.unreachable</extracomment>
    <translation>无法连接到此地址的服务器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no connection to {host}. Check that this computer is online.</source>
    <extracomment>no_connection.offline</extracomment>
    <translation>无法连接到 {host}。请检查本机是否已联网。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no display to open a window on. `{command}` chats in the terminal instead.</source>
    <extracomment>start.no_display</extracomment>
    <translation>没有可以打开窗口的显示器。可以用 `{command}` 在终端里对话。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no file or folder {path}. It may have been moved or renamed.</source>
    <extracomment>no_such_file.or_folder</extracomment>
    <translation>没有文件或文件夹 {path}。它可能已被移动或重命名。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no file {path}. It may have been moved or renamed.</source>
    <extracomment>no_such_file.model</extracomment>
    <translation>没有文件 {path}。它可能已被移动或重命名。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no model server at {host} under this address. It often ends with /v1.</source>
    <extracomment>not_found.server_api</extracomment>
    <translation>{host} 的这个地址上没有模型服务器。地址通常以 /v1 结尾。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no page at this address on {host} (error {status}).</source>
    <extracomment>not_found.page</extracomment>
    <translation>{host} 上没有这个地址的网页（错误 {status}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no program “{command}”. Install it, or give its whole path.</source>
    <extracomment>tool_server.not_found</extracomment>
    <translation>没有名为“{command}”的程序。请安装它，或填写它的完整路径。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no safe connection to {address}: its address must begin with https://.</source>
    <extracomment>refused.not_https</extracomment>
    <translation>无法安全连接到 {address}：地址必须以 https:// 开头。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no server called {host}. Check the address, and that this computer is online.</source>
    <extracomment>no_connection.server_name</extracomment>
    <translation>找不到名为 {host} 的服务器。请检查地址，并确认本机已联网。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is no server in this JSON.</source>
    <extracomment>tool_server.no_servers</extracomment>
    <translation>这段 JSON 中没有服务器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is not enough disk space for {name}: {size:bytes} still to download. Free {short:bytes}.</source>
    <extracomment>disk_full.no_room</extracomment>
    <translation>磁盘空间不足以存放 {name}：还需下载 {size:bytes}。请释放 {short:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is not enough disk space for {name}: {size:bytes} to copy. Free {short:bytes}.</source>
    <extracomment>disk_full.no_room_to_copy</extracomment>
    <translation>磁盘空间不足，无法复制 {name}：需要 {size:bytes}。请释放 {short:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is not enough free memory for a context of {n_ctx:,} tokens. Try a smaller one.</source>
    <extracomment>out_of_memory.context</extracomment>
    <translation>可用内存不足以容纳 {n_ctx:,} 个词元的上下文。请减小上下文。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is not enough free memory for a text of {tokens:,} tokens. Send shorter texts, or close other programs.</source>
    <extracomment>out_of_memory.text</extracomment>
    <translation>可用内存不足以处理 {tokens:,} 个词元的文本。请发送较短的文本，或关闭其他程序。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is not enough free memory for {name}.</source>
    <extracomment>out_of_memory.weights</extracomment>
    <translation>可用内存不足以容纳 {name}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is not enough free memory to load {name}. Try a smaller model.</source>
    <extracomment>out_of_memory.model</extracomment>
    <translation>可用内存不足，无法加载 {name}。请使用更小的模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is nothing to answer: the message is empty.</source>
    <extracomment>empty_prompt.message</extracomment>
    <translation>没有可回答的内容：消息为空。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is nothing to embed: a text is empty.</source>
    <extracomment>empty_prompt.text</extracomment>
    <translation>没有可供嵌入的内容：有一段文本是空的。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>There is room for {most:,} servers. Remove one first.</source>
    <extracomment>tool_server.too_many</extracomment>
    <translation>最多可有 {most:,} 个服务器。请先移除一个。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This chat is too long for {model}. Leave out the oldest turn, or start a new chat.</source>
    <extracomment>prompt_too_long.server_turns</extracomment>
    <translation>此对话对 {model} 来说太长。请略去最早的一轮对话，或开始新对话。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../common/messages.py"/>
    <source>This chat is too long for {model}. Leave out the {n} oldest turns, or start a new chat.</source>
    <extracomment>n = 1: This chat is too long for {model}. Leave out the oldest turn, or start a new chat., prompt_too_long.server_turns</extracomment>
    <translation><numerusform>此对话对 {model} 来说太长。请略去最早的 {n} 轮对话，或开始新对话。</numerusform></translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This chat is too long for {model}: {reason}.</source>
    <extracomment>prompt_too_long.server</extracomment>
    <translation>此对话对 {model} 来说太长：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This chat needs {needed} tokens, the context holds {n_ctx:,}. {first} {other}</source>
    <extracomment>prompt_too_long.chat</extracomment>
    <translation>此对话需要 {needed} 个词元，上下文只能容纳 {n_ctx:,} 个。{first}{other}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This chat's context of {size:bytes} exceeds the space for cached context.</source>
    <extracomment>cache_full.one_chat</extracomment>
    <translation>此对话的上下文（{size:bytes}）超出了上下文缓存的空间。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This file comes from a newer version of Chickadee. Update Chickadee to import it.</source>
    <extracomment>import.newer</extracomment>
    <translation>此文件由较新版本的 Chickadee 写成。请更新后再导入。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This is no JSON.</source>
    <extracomment>tool_server.bad_json</extracomment>
    <translation>这不是 JSON。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This is no command: check the quotation marks.</source>
    <extracomment>tool_server.bad_command</extracomment>
    <translation>这不是命令：请检查引号。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This is not a key: it has spaces, line breaks or letters that a key cannot have.</source>
    <extracomment>bad_option.server_key</extracomment>
    <translation>这不是密钥：其中含有空格、换行或密钥不能有的字符。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This llama.cpp has no kernels of its own for {processor}: {variable} is for the packaged one.</source>
    <extracomment>no_kernels.for_processor</extracomment>
    <translation>此 llama.cpp 没有专用于 {processor} 的计算内核：{variable} 只适用于安装包中的版本。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This llama.cpp was built without support for pictures. Run `make setup` again.</source>
    <extracomment>no_vision.library</extracomment>
    <translation>此 llama.cpp 编译时未包含图片支持。请重新运行 `make setup`。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This model brings no layers that draft its next tokens: tokens are drafted from the chat.</source>
    <extracomment>own_drafter.none</extracomment>
    <translation>该模型没有自带起草层：将根据对话内容起草词元。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This model cannot see. Remove the pictures, or choose a model that can.</source>
    <extracomment>no_vision.model</extracomment>
    <translation>此模型看不到图片。请移除图片，或选择能看图片的模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This model needs llama.cpp, which has not been compiled yet: `make setup` does that. {reason}</source>
    <extracomment>no_backend.for_model</extracomment>
    <translation>此模型需要 llama.cpp，但它尚未编译：请运行 `make setup`。{reason}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This model was not trained to write the middle of a text. Models such as Qwen2.5-Coder are.</source>
    <extracomment>no_infill.model</extracomment>
    <translation>该模型没有为补写文本中间部分而训练。Qwen2.5-Coder 等模型可以。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This model's speed could not be measured because another program was busy.</source>
    <extracomment>disturbed.by_programs</extracomment>
    <translation>另一个程序正忙，未能测量此模型的速度。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This processor has no {features}, which dictation needs.</source>
    <extracomment>dictation.processor</extracomment>
    <translation>此处理器没有听写所需的 {features}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This system cannot confine the server: it could read all your files and send them. Start it only if you trust it.</source>
    <extracomment>tool_server.unconfined</extracomment>
    <translation>本系统无法限制此服务器：它可能读取你的所有文件并将其发送出去。仅在信任它时才启动。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>This text has {tokens:,} tokens, the context holds {n_ctx:,}. Shorten the text.</source>
    <extracomment>prompt_too_long.plain</extracomment>
    <translation>这段文本有 {tokens:,} 个词元，上下文只能容纳 {n_ctx:,} 个。请缩短文本。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>To save memory, prompts are read {tokens} tokens at a time, which is a little slower.</source>
    <extracomment>plan.small_batch</extracomment>
    <translation>为节省内存，提示词每次读取 {tokens} 个词元，会稍慢一些。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>To save memory, speculative decoding is off for this model, so text that repeats is written more slowly.</source>
    <extracomment>plan.no_rollback</extracomment>
    <translation>为节省内存，此模型不使用推测解码，因此生成重复内容时较慢。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>To save memory, the KV cache is stored as q8_0, half the size of f16 and nearly as exact.</source>
    <extracomment>plan.q8_0</extracomment>
    <translation>为节省内存，KV 缓存以 q8_0 存储，大小为 f16 的一半，精度相近。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>To save memory, the layers that the model brings to draft its next tokens are left out.</source>
    <extracomment>plan.no_own_layers</extracomment>
    <translation>为节省内存，未加载模型自带的起草层。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>To save memory, the weights are not repacked for this processor: answers are 1.2× slower.</source>
    <extracomment>plan.not_repacked</extracomment>
    <translation>为节省内存，权重未针对本处理器重新打包：回答会慢约 1.2 倍。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>To save memory, the weights are read into memory once instead of twice; loading takes longer.</source>
    <extracomment>plan.read_once</extracomment>
    <translation>为节省内存，权重只读入内存一份而非两份；加载时间会更长。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Type what to search for, for example: qwen 1.5b instruct.</source>
    <extracomment>bad_option.empty_search</extracomment>
    <translation>输入要搜索的内容，例如：qwen 1.5b instruct。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Up to {size:bytes} keep other chats ready, so that going back to one does not read it again.</source>
    <extracomment>plan.kept_chats</extracomment>
    <translation>最多用 {size:bytes} 保留其他对话，切换回去时无需重新读取。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>What {host} sent is no answer of a model server. Check the address.</source>
    <extracomment>refused.server_nonsense</extracomment>
    <translation>{host} 发来的内容不是模型服务器的回答。请检查地址。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>What {host} sent is no web page.</source>
    <extracomment>refused.page_nonsense</extracomment>
    <translation>{host} 发来的不是网页。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Your chats cannot be saved to {path}: {reason}.</source>
    <extracomment>store.unwritable</extracomment>
    <translation>无法将对话保存到 {path}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Your chats were saved by a newer version of Chickadee. Update Chickadee to open them.</source>
    <extracomment>store_newer.file</extracomment>
    <translation>你的对话由较新版本的 Chickadee 保存。请更新 Chickadee 后再打开。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>Your system's package manager has it.</source>
    <extracomment>how.package_manager</extracomment>
    <translation>可以用系统的软件包管理器安装它。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>`{command}` installs it.</source>
    <extracomment>how.command</extracomment>
    <translation>可以用 `{command}` 安装。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp cannot store this model's KV cache as {kv_type}.</source>
    <extracomment>ik.kv_type</extracomment>
    <translation>ik_llama.cpp 不能以 {kv_type} 存储此模型的 KV 缓存。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp crashed with it.</source>
    <extracomment>ik.crashed</extracomment>
    <translation>ik_llama.cpp 运行此模型时曾崩溃。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp crashed with this model, so llama.cpp is used.</source>
    <extracomment>choice.crashed</extracomment>
    <translation>ik_llama.cpp 运行此模型时崩溃，因此改用 llama.cpp。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp does not support the architecture “{architecture}” yet.</source>
    <extracomment>ik.architecture</extracomment>
    <translation>ik_llama.cpp 尚不支持架构“{architecture}”。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp does not support the quantisation of this file.</source>
    <extracomment>ik.quantisation</extracomment>
    <translation>ik_llama.cpp 不支持此文件的权重量化方式。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp is not installed: there is no build of it for this computer.</source>
    <extracomment>no_backend.ik</extracomment>
    <translation>未安装 ik_llama.cpp：没有适用于本机的安装包。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp is used until llama.cpp has been compiled.</source>
    <extracomment>choice.not_ready</extracomment>
    <translation>llama.cpp 编译完成之前使用 ik_llama.cpp。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>ik_llama.cpp needs a processor with {features}.</source>
    <extracomment>ik.processor</extracomment>
    <translation>ik_llama.cpp 需要支持 {features} 的处理器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it does not know how its weights are quantised</source>
    <extracomment>graph.quantisation</extracomment>
    <translation>它不支持这种权重量化方式</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it does not know the architecture “{architecture}”</source>
    <extracomment>graph.architecture</extracomment>
    <translation>它不认识架构“{architecture}”</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it does not know the scaling “{scaling}” of positions</source>
    <extracomment>graph.positions</extracomment>
    <translation>它不支持位置缩放方式“{scaling}”</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it knows no mixture of experts</source>
    <extracomment>graph.experts</extracomment>
    <translation>它不支持混合专家</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it knows no weights called “{name}”</source>
    <extracomment>graph.weights</extracomment>
    <translation>它不认识名为“{name}”的权重</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it leaves out the question</source>
    <extracomment>template.no_question</extracomment>
    <translation>它遗漏了问题</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>it takes too much time or memory</source>
    <extracomment>template.limits</extracomment>
    <translation>占用过多时间或内存</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>its kind is {other}, not {own}</source>
    <extracomment>vocabulary.kind</extracomment>
    <translation>其类型为 {other}，而不是 {own}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>its norms or biases are quantised</source>
    <extracomment>graph.norms</extracomment>
    <translation>其归一化或偏置权重已量化</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp computes it, because ik_llama.cpp cannot show pictures to a model.</source>
    <extracomment>choice.sees</extracomment>
    <translation>由 llama.cpp 计算，因为 ik_llama.cpp 无法让模型看图片。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp could not quantise {name}. Check that there is enough disk space.</source>
    <extracomment>not_quantised.by_llama</extracomment>
    <translation>llama.cpp 无法量化 {name}。请检查磁盘空间是否足够。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp crashed with this model, so ik_llama.cpp is used.</source>
    <extracomment>choice.llama_crashed</extracomment>
    <translation>llama.cpp 运行此模型时崩溃，因此改用 ik_llama.cpp。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp does not accept the projector {name}. Download it again, or a newer one.</source>
    <extracomment>bad_projector.not_accepted</extracomment>
    <translation>llama.cpp 不接受投影器 {name}。请重新下载，或下载较新的版本。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp has not been compiled yet: `make setup` does that.</source>
    <extracomment>no_backend.llama</extracomment>
    <translation>llama.cpp 尚未编译：请运行 `make setup`。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp is expected to be faster with this model. Both libraries are timed while the computer is idle.</source>
    <extracomment>choice.not_timed</extracomment>
    <translation>预计 llama.cpp 运行此模型更快；电脑空闲时会对两个库计时。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp is missing from this installation. Install Chickadee again.</source>
    <extracomment>no_backend.packaged</extracomment>
    <translation>此安装缺少 llama.cpp。请重新安装 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp is used for this model: ik_llama.cpp is not faster on this computer.</source>
    <extracomment>choice.slower</extracomment>
    <translation>此模型使用 llama.cpp：在本机上 ik_llama.cpp 并不更快。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp, which runs more models, cannot be prepared without a C and C++ compiler. {how} Then start Chickadee again.</source>
    <extracomment>preparation.no_compiler</extracomment>
    <translation>没有 C 和 C++ 编译器，无法准备能运行更多模型的 llama.cpp。{how}然后请重新启动 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>llama.cpp, which runs more models, could not be prepared: {reason}. Run `make setup` to try again.</source>
    <extracomment>preparation.failed</extracomment>
    <translation>无法准备能运行更多模型的 llama.cpp：{reason}。请运行 `make setup` 重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>more than {tokens:,}</source>
    <extracomment>turns.more_than</extracomment>
    <translation>超过 {tokens:,}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>or start a new chat; a context large enough would not fit into memory.</source>
    <extracomment>turns.no_memory</extracomment>
    <translation>或新建对话；能容纳它的上下文超出了内存。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>or start a new chat; the model was not trained for a larger context.</source>
    <extracomment>turns.not_trained</extracomment>
    <translation>或新建对话；该模型未针对更大的上下文训练。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>start a new chat, or load the model with a context of {n_ctx:,} tokens and an 8-bit KV cache.</source>
    <extracomment>turns.larger_8_bit</extracomment>
    <translation>新建对话，或以 {n_ctx:,} 个词元的上下文（KV 缓存为 8 位）加载模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>start a new chat, or load the model with a context of {n_ctx:,} tokens.</source>
    <extracomment>turns.larger_context</extracomment>
    <translation>新建对话，或以 {n_ctx:,} 个词元的上下文加载模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>the text's beginning is token {other}, not {own}</source>
    <extracomment>vocabulary.beginning</extracomment>
    <translation>文本开头是词元 {other}，而不是 {own}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>the text's end is token {other}, not {own}</source>
    <extracomment>vocabulary.end</extracomment>
    <translation>文本结尾是词元 {other}，而不是 {own}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>the turn's end is token {other}, not {own}</source>
    <extracomment>vocabulary.turn_end</extracomment>
    <translation>一轮结尾是词元 {other}，而不是 {own}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>token {token} is “{other}”, not “{own}”</source>
    <extracomment>vocabulary.token</extracomment>
    <translation>词元 {token} 是“{other}”，而不是“{own}”</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>token {token}, “{text}”, is added</source>
    <extracomment>vocabulary.added</extracomment>
    <translation>多出词元 {token}“{text}”</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>token {token}, “{text}”, is missing</source>
    <extracomment>vocabulary.missing</extracomment>
    <translation>缺少词元 {token}“{text}”</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>token {token}, “{text}”, is of another kind</source>
    <extracomment>vocabulary.token_kind</extracomment>
    <translation>词元 {token}“{text}”的类型不同</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{count} folders and files are already in the list. Remove some first.</source>
    <extracomment>too_many.added</extracomment>
    <translation>列表中已有 {count} 个文件夹和文件。请先移除一些。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{count} layers cannot draft: this model has {layers} in all, and 1 to {most} of them can.</source>
    <extracomment>no_such_layer.of_model</extracomment>
    <translation>{count} 层无法起草：此模型共有 {layers} 层，可用其中的 1 到 {most} 层。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{device} is not used, because it computes wrong numbers. A new driver is tried again.</source>
    <extracomment>device.wrong_numbers</extracomment>
    <translation>不使用 {device}，因为它的计算结果有误。更新驱动程序后会再次尝试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{device} is not used, because its driver crashed. A new driver is tried again.</source>
    <extracomment>device.crashed</extracomment>
    <translation>不使用 {device}，因为它的驱动程序崩溃了。更新驱动程序后会再次尝试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{device} is not used, because its driver did not answer. A new driver is tried again.</source>
    <extracomment>device.hung</extracomment>
    <translation>不使用 {device}，因为它的驱动程序没有响应。更新驱动程序后会再次尝试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{drafter} has a different vocabulary from {target}: {difference}. Choose a draft model of the same family.</source>
    <extracomment>other_vocabulary.of_pair</extracomment>
    <translation>{drafter} 的词表与 {target} 不同：{difference}。请选择同一系列的草稿模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} cannot be read ({reason}), and it may forbid connections. Correct it first.</source>
    <extracomment>offline.unreadable</extracomment>
    <translation>无法读取 {file}（{reason}），其中可能禁止了网络连接。请先修正。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} cannot be read: {reason}.</source>
    <extracomment>snippets.unreadable</extracomment>
    <translation>无法读取 {file}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} cannot be used: snippet {number:,} has no name or no text.</source>
    <extracomment>snippets.entry_empty</extracomment>
    <translation>{file} 无法使用：第 {number:,} 个片段没有名称或内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} cannot be used: the snippet “{name}” has more than {most:,} characters.</source>
    <extracomment>snippets.entry_long</extracomment>
    <translation>{file} 无法使用：片段“{name}”超过 {most:,} 个字符。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} comes from a newer version of Chickadee. Update Chickadee first.</source>
    <extracomment>snippets.newer</extracomment>
    <translation>{file} 来自更新版本的 Chickadee。请先更新 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} contains no prompt snippets. Chickadee reads the JSON that it exports.</source>
    <extracomment>snippets.not_ours</extracomment>
    <translation>{file} 中没有提示词片段。Chickadee 只读取自己导出格式的 JSON。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} has too many snippets: there is room for {most:,}.</source>
    <extracomment>snippets.too_many_in_file</extracomment>
    <translation>{file} 中的片段过多：最多可保存 {most:,} 个。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} is damaged: it is no valid JSON.</source>
    <extracomment>snippets.damaged</extracomment>
    <translation>{file} 已损坏：不是有效的 JSON。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{file} is too large for prompt snippets: it may have {most:bytes}.</source>
    <extracomment>snippets.too_large</extracomment>
    <translation>{file} 作为提示词片段文件过大：最多 {most:bytes}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} accepts no safe connection here. If it has none, its address begins with http://, not https://.</source>
    <extracomment>refused.server_no_tls</extracomment>
    <translation>{host} 在这里不接受安全连接。如果它不支持，地址应以 http:// 开头，而不是 https://。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} cannot be reached. Check that this computer is online.</source>
    <extracomment>no_connection.server_unreachable</extracomment>
    <translation>无法连接到 {host}。请确认本机已联网。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} closed the connection too early.</source>
    <extracomment>no_connection.closed</extracomment>
    <translation>{host} 过早断开了连接。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} does not accept the key (error {status}). Check the key.</source>
    <extracomment>refused.server_key</extracomment>
    <translation>{host} 不接受该密钥（错误 {status}）。请检查密钥。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} does not have {model} any more. Choose another model.</source>
    <extracomment>not_found.server_model</extracomment>
    <translation>{host} 上已没有 {model}。请选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} does not let Chickadee read this page (error {status}). Paste its text instead.</source>
    <extracomment>refused.page_account</extracomment>
    <translation>{host} 不允许 Chickadee 读取这个网页（错误 {status}）。请改为粘贴其中的文字。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} does not respond. Try again later.</source>
    <extracomment>no_connection.no_answer, no_connection.server_silent</extracomment>
    <translation>{host} 没有响应。请稍后再试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} ended the answer: its filter does not allow more.</source>
    <extracomment>refused.server_filter</extracomment>
    <translation>{host} 结束了回答：它的过滤器不允许继续。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} has a problem (error {status}). Try again later.</source>
    <extracomment>no_connection.server_problem, no_connection.status</extracomment>
    <translation>{host} 出现问题（错误 {status}）。请稍后再试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} has no models. Load one there first.</source>
    <extracomment>not_found.server_no_models</extracomment>
    <translation>{host} 没有模型。请先在那里加载一个。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} has no such model or file (error {status}). It may have been renamed.</source>
    <extracomment>not_found.status</extracomment>
    <translation>{host} 没有此模型或文件（错误 {status}）。它可能已被重命名。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} has several models. Name one with --server-model: {listed}.</source>
    <extracomment>not_found.server_which</extracomment>
    <translation>{host} 有多个模型。请用 --server-model 指定一个：{listed}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} is still loading the model. Try again in a minute.</source>
    <extracomment>no_connection.server_loading</extracomment>
    <translation>{host} 仍在加载模型。请一分钟后重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} leads into your own network, to {address}. Such an address is read only if you enter it yourself.</source>
    <extracomment>refused.page_private</extracomment>
    <translation>{host} 指向你自己网络中的地址 {address}。这样的地址只有由你自己输入时才会读取。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} leads to an address that is not safe: {address}.</source>
    <extracomment>refused.redirect</extracomment>
    <translation>{host} 指向不安全的地址：{address}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} leads to {other}, which refuses the file (error {status}). Try again later.</source>
    <extracomment>refused.redirected</extracomment>
    <translation>{host} 指向 {other}，后者拒绝提供该文件（错误 {status}）。请稍后重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} received too many requests (error 429). Try again in a few minutes.</source>
    <extracomment>no_connection.too_many</extracomment>
    <translation>对 {host} 的请求过于频繁（错误 429）。请几分钟后再试。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../common/messages.py"/>
    <source>{host} received too many requests (error 429). Try again in {n} seconds.</source>
    <extracomment>n = 1: {host} has too many requests (error 429). Try again in {n} second., no_connection.server_busy_until</extracomment>
    <translation><numerusform>{host} 的请求太多（错误 429）。请在 {n} 秒后重试。</numerusform></translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} received too many requests, or your account there is used up (error 429). Try again later.</source>
    <extracomment>no_connection.server_busy</extracomment>
    <translation>{host} 的请求太多，或你在那里的额度已用完（错误 429）。请稍后重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} redirects this request to {address}. Chickadee connects only to the server that you named.</source>
    <extracomment>refused.server_redirect</extracomment>
    <translation>{host} 要把这个请求重定向到 {address}。Chickadee 只连接你指定的服务器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} redirects without end.</source>
    <extracomment>refused.redirects</extracomment>
    <translation>{host} 不断重定向，没有尽头。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} refused the request (error {status}).</source>
    <extracomment>refused.status</extracomment>
    <translation>{host} 拒绝了请求（错误 {status}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} refused the request (error {status}): {reason}.</source>
    <extracomment>refused.server_request</extracomment>
    <translation>{host} 拒绝了请求（错误 {status}）：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} requires a key (error {status}).</source>
    <extracomment>refused.server_needs_key</extracomment>
    <translation>{host} 需要密钥（错误 {status}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} requires an account and a licence for this file (error {status}).</source>
    <extracomment>refused.account</extracomment>
    <translation>{host} 要求账号和许可才能下载此文件（错误 {status}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} sent a response that Chickadee does not understand. Try again later.</source>
    <extracomment>refused.not_understood</extracomment>
    <translation>Chickadee 无法理解 {host} 的响应。请稍后再试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} sent far more than an answer can be, so the connection was closed.</source>
    <extracomment>refused.server_too_much</extracomment>
    <translation>{host} 发来的内容远超一个回答的长度，因此连接已关闭。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} sent the page packed in a way that cannot be read ({kind}).</source>
    <extracomment>refused.page_packed</extracomment>
    <translation>{host} 发来的网页所用的压缩方式无法读取（{kind}）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} sent {kind}. Only web pages, texts and PDF files can be read.</source>
    <extracomment>refused.page_kind</extracomment>
    <translation>{host} 发来的是 {kind}。只能读取网页、文本和 PDF 文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} stopped answering because of an error of its own.</source>
    <extracomment>no_connection.server_broke</extracomment>
    <translation>{host} 因自身出错而停止了回答。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{host} took longer than {seconds} seconds to send the page.</source>
    <extracomment>no_connection.page_slow</extracomment>
    <translation>{host} 发送网页用了超过 {seconds} 秒。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{layers:,} of {of:,} layers: {device}, which was not timed yet.</source>
    <extracomment>device.untimed_layers</extracomment>
    <translation>{of:,} 层中的 {layers:,} 层：{device}（尚未测速）。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{layers:,} of {of:,} layers: {device}; prompts {reads} against {read}, writing {writes} against {wrote}.</source>
    <extracomment>device.some</extracomment>
    <translation>{of:,} 层中的 {layers:,} 层：{device}；读取提示词 {reads}，处理器为 {read}；生成 {writes}，处理器为 {wrote}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{minutes} min {seconds} s</source>
    <extracomment>unit.minutes_seconds</extracomment>
    <translation>{minutes} 分钟 {seconds} 秒</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{model} needs up to {size:bytes} with a context of {n_ctx:,} tokens; {room}.</source>
    <extracomment>plan.needs</extracomment>
    <translation>{model} 需要最多 {size:bytes}（上下文 {n_ctx:,} 个词元）；{room}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{model} on {host} cannot use tools. Switch them off in this chat, or choose another model.</source>
    <extracomment>refused.server_tools</extracomment>
    <translation>{host} 上的 {model} 不能使用工具。请在此对话中关闭工具，或选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} belongs to another model than {model}. Download the projector of this model.</source>
    <extracomment>bad_projector.width</extracomment>
    <translation>{name} 不属于 {model}，而属于另一个模型。请下载此模型的投影器。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be brought back: {reason}. Try again.</source>
    <extracomment>unwritable.undo</extracomment>
    <translation>无法恢复 {name}：{reason}。请重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be copied to {folder}: {reason}.</source>
    <extracomment>unwritable.copy</extracomment>
    <translation>无法将 {name} 复制到 {folder}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be read: {reason}.</source>
    <extracomment>import.unreadable, unreadable.file</extracomment>
    <translation>无法读取 {name}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be removed here. {reason}</source>
    <extracomment>not_ours.removal</extracomment>
    <translation>无法在此移除 {name}。{reason}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be removed: {reason}.</source>
    <extracomment>unwritable.removal</extracomment>
    <translation>无法移除 {name}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be saved in {folder}: {reason}.</source>
    <extracomment>unwritable.download</extracomment>
    <translation>无法将 {name} 保存到 {folder}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be used: its header alone would fill the memory of this computer.</source>
    <extracomment>bad_model.filling_header</extracomment>
    <translation>无法使用 {name}：仅其文件头就会占满本机内存。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be used: its header is larger than any model's. Download it again.</source>
    <extracomment>bad_model.large_header</extracomment>
    <translation>{name} 无法使用：它的文件头比任何模型的都大。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot be used: {library} cannot read its header to the end.</source>
    <extracomment>bad_model.unending_header</extracomment>
    <translation>无法使用 {name}：{library} 无法读完它的文件头。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot draft for itself. Choose a smaller model to draft.</source>
    <extracomment>same_model.drafts</extracomment>
    <translation>{name} 不能作为自己的草稿模型。请选择更小的模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot remove tokens from its cache, so speculative decoding is not available with it.</source>
    <extracomment>cannot_draft.keeps_tokens</extracomment>
    <translation>{name} 不能从缓存中移除词元，因此无法使用推测解码。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} cannot store its KV cache as {kv_type}.</source>
    <extracomment>bad_option.kv_type</extracomment>
    <translation>{name} 不能以 {kv_type} 存储其 KV 缓存。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} contains no chats that Chickadee can read. Choose a file that Chickadee, ChatGPT, Claude, Open WebUI or llama.cpp has exported, or one in which a program keeps its chats.</source>
    <extracomment>import.unknown</extracomment>
    <translation>{name} 中没有 Chickadee 可读取的对话。请选择由 Chickadee、ChatGPT、Claude、Open WebUI 或 llama.cpp 导出的文件，或某个程序保存对话的文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} contains no vocabulary.</source>
    <extracomment>bad_model.no_vocabulary</extracomment>
    <translation>{name} 不含词表。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} could not be loaded: {library} does not accept the file.</source>
    <extracomment>bad_model.not_accepted</extracomment>
    <translation>无法加载 {name}：{library} 不接受该文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} does not say what the model looks like: “{key}” is missing or invalid.</source>
    <extracomment>bad_model.shapes</extracomment>
    <translation>{name} 没有说明模型的结构：“{key}”缺失或无效。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} does not state its {key}, so it cannot be loaded.</source>
    <extracomment>bad_model.not_stated</extracomment>
    <translation>{name} 没有说明其 {key}，无法加载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} has GGUF version {version}; versions 2 and 3 can be read.</source>
    <extracomment>bad_model.version</extracomment>
    <translation>{name} 的 GGUF 版本为 {version}；只能读取版本 2 和 3。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} has an impossible {key}: {value}.</source>
    <extracomment>bad_model.impossible</extracomment>
    <translation>{name} 的 {key} 不可能为 {value}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} has keys and values of sizes that do not match.</source>
    <extracomment>bad_model.uneven_heads</extracomment>
    <translation>{name} 的键和值大小不匹配。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} has no vocabulary: it knows numbers of tokens only, so it cannot chat.</source>
    <extracomment>not_a_chat_model.no_vocabulary</extracomment>
    <translation>{name} 没有词表：它只认识词元的编号，因此无法对话。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} has the architecture “{architecture}”, which this version of {library} does not support yet.</source>
    <extracomment>unknown_architecture.of_model</extracomment>
    <translation>{name} 的架构为“{architecture}”，当前版本的 {library} 尚不支持。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is an adapter (LoRA), an addition to a model. Choose the model itself.</source>
    <extracomment>not_a_chat_model.adapter</extracomment>
    <translation>{name} 是适配器（LoRA），只是模型的附加部分。请选择模型本身。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is an embedding model: it compares texts and cannot answer. Choose a chat model.</source>
    <extracomment>not_a_chat_model.embedding</extracomment>
    <translation>{name} 是嵌入模型，用于比较文本，不能回答。请选择对话模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is being downloaded by another window or terminal.</source>
    <extracomment>busy.download</extracomment>
    <translation>另一个窗口或终端正在下载 {name}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged at byte {at:,}. Nothing was imported.</source>
    <extracomment>import.damaged</extracomment>
    <translation>{name} 在第 {at:,} 字节处损坏，未导入任何内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged or incomplete: its header cannot be read. Download it again.</source>
    <extracomment>bad_model.header</extracomment>
    <translation>{name} 已损坏或不完整：无法读取文件头。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged or made for another version of {library}: its weights “{tensor}” are missing or have another size. Choose another file.</source>
    <extracomment>bad_model.other_tensors</extracomment>
    <translation>{name} 已损坏，或是为另一版本的 {library} 制作的：权重“{tensor}”缺失或大小不同。请选择其他文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged or password-protected. Nothing was imported.</source>
    <extracomment>import.damaged_zip</extracomment>
    <translation>{name} 已损坏或受密码保护。未导入任何内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged, or a program is writing in it. Close that program and try again.</source>
    <extracomment>import.database_file</extracomment>
    <translation>{name} 已损坏，或有程序正在写入。请关闭该程序后重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged, or of a version of {program} that Chickadee does not know. It was skipped.</source>
    <extracomment>import.not_a_chat</extracomment>
    <translation>{name} 已损坏，或来自 Chickadee 不支持的 {program} 版本，已跳过。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged, or {program} is writing in it. Close {program} and try again.</source>
    <extracomment>import.database</extracomment>
    <translation>{name} 已损坏，或 {program} 正在写入。请关闭 {program} 后重试。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged: the file continues after the end of the model. Download it again.</source>
    <extracomment>bad_model.long</extracomment>
    <translation>{name} 已损坏：模型结尾之后还有内容。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is damaged: what its header says about “{key}” makes no sense. Download it again.</source>
    <extracomment>bad_model.senseless, bad_projector.senseless</extracomment>
    <translation>{name} 已损坏：其文件头中关于“{key}”的内容不合理。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is in the folder {folder}, which was added. Remove that folder from the list instead.</source>
    <extracomment>not_ours.in_added</extracomment>
    <translation>{name} 位于已添加的文件夹 {folder} 中。请将该文件夹从列表中移除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is incomplete: part of the model is missing. Download it again.</source>
    <extracomment>bad_model.incomplete</extracomment>
    <translation>{name} 不完整，缺少部分模型数据。请重新下载。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../common/messages.py"/>
    <source>{name} is incomplete: parts {numbers} of {of} are missing. Download the model again.</source>
    <extracomment>n = 1: {name} is incomplete: part {numbers} of {of} is missing. Download the model again., unusable.incomplete</extracomment>
    <translation><numerusform>{name} 不完整：共 {of} 个部分，缺少第 {numbers} 部分。请重新下载模型。</numerusform></translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is larger than the free memory, so its weights are read from the disk again for every word: expect about {speed}. A smaller model is better here.</source>
    <extracomment>from_disk.slow</extracomment>
    <translation>{name} 大于可用内存，因此每写一个词都要重新从磁盘读取权重：预计约 {speed}。在这台电脑上，更小的模型更合适。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is larger than the free memory, so weights are read from the disk all the time: expect about {speed}.</source>
    <extracomment>from_disk.expected</extracomment>
    <translation>{name} 大于可用内存，因此会不断从磁盘读取权重：预计约 {speed}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is no projector for pictures. Its file name begins with mmproj.</source>
    <extracomment>not_a_projector.other_file</extracomment>
    <translation>{name} 不是图片投影器。投影器的文件名以 mmproj 开头。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is not a GGUF model file. Choose a file that ends in .gguf.</source>
    <extracomment>not_a_model.other_file</extracomment>
    <translation>{name} 不是 GGUF 模型文件。请选择以 .gguf 结尾的文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is not a chat model: it translates text to text only.</source>
    <extracomment>not_a_chat_model.encoder</extracomment>
    <translation>{name} 不是对话模型，只能做文本到文本的转换。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is not a file.</source>
    <extracomment>unusable.no_file</extracomment>
    <translation>{name} 不是文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is not an embedding model. Choose an embedding model.</source>
    <extracomment>bad_model.no_embedding</extracomment>
    <translation>{name} 不是嵌入模型。请选择嵌入模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is not in a folder of {own}, so it was not removed.</source>
    <extracomment>not_ours.elsewhere</extracomment>
    <translation>{name} 不在 {own} 的任何文件夹中，因此未移除。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is not the model's first file. Choose {first}.</source>
    <extracomment>bad_model.not_first</extracomment>
    <translation>{name} 不是该模型的第一个文件。请选择 {first}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is one of {count} files of a model. Restore their original names.</source>
    <extracomment>bad_model.split_names</extracomment>
    <translation>{name} 是一个模型的 {count} 个文件之一。请恢复它们原来的名称。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is split into {count} files, which Ollama keeps under names of its own. Only Ollama can load it so. Download the model here.</source>
    <extracomment>bad_model.split_blobs</extracomment>
    <translation>{name} 由 {count} 个文件组成，Ollama 以自己的名称保存它们，只有 Ollama 能这样加载。请在此处下载该模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is still being downloaded. Cancel its download first.</source>
    <extracomment>busy.removal</extracomment>
    <translation>{name} 仍在下载中。请先取消其下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is the part of a model that reads pictures. Choose the model itself.</source>
    <extracomment>not_a_chat_model.image</extracomment>
    <translation>{name} 是模型中读取图片的部分。请选择模型本身。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is too large. Nothing was imported.</source>
    <extracomment>import.too_large</extracomment>
    <translation>{name} 过大。未导入任何内容。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} is {count} files of a model, one behind the other, and cannot be loaded like this. Put the files into one folder under their original names, and open the first.</source>
    <extracomment>bad_model.joined</extracomment>
    <translation>{name} 是由某个模型的 {count} 个文件首尾相接而成的，无法这样加载。请把各个文件以原来的名称放入同一个文件夹，再打开第一个文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} makes {library} crash: it is damaged or made for another version. Choose another model.</source>
    <extracomment>bad_model.crashes</extracomment>
    <translation>{name} 会使 {library} 崩溃：文件已损坏，或是为其他版本制作的。请选择其他模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} needs the tokenizer “{tokenizer}”, which this version of {library} does not support yet.</source>
    <extracomment>unknown_architecture.tokenizer</extracomment>
    <translation>{name} 需要分词器“{tokenizer}”，此版本的 {library} 尚不支持。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} needs {size:bytes} with a context of {n_ctx:,} tokens, {missing:bytes} too much: {room}.</source>
    <extracomment>plan.too_much</extracomment>
    <translation>{name} 在 {n_ctx:,} 个词元的上下文下需要 {size:bytes}，超出 {missing:bytes}：{room}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} needs {size:bytes} with a context of {n_ctx:,} tokens; {room}. So its weights stay on the disk and are read from there again and again.</source>
    <extracomment>plan.from_disk</extracomment>
    <translation>{name} 在 {n_ctx:,} 个词元的上下文下需要 {size:bytes}；{room}。因此权重留在磁盘上，并会反复从那里读取。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} points to a file that no longer exists.</source>
    <extracomment>unusable.gone</extracomment>
    <translation>{name} 指向的文件已不存在。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not converted completely: its header lacks “{key}”. Choose another file.</source>
    <extracomment>bad_model.lacks_key</extracomment>
    <translation>{name} 未完整转换：其文件头缺少“{key}”。请选择其他文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not loaded: the system could not start another process.</source>
    <extracomment>out_of_memory.no_process</extracomment>
    <translation>未能加载 {name}：系统无法再启动一个进程。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not saved: more arrived than was announced. Download it again.</source>
    <extracomment>wrong_bytes.more</extracomment>
    <translation>未保存 {name}：收到的数据多于所声明的。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not saved: the bytes that arrived are not those that were published. Download it again.</source>
    <extracomment>wrong_bytes.other</extracomment>
    <translation>未保存 {name}：收到的内容与发布的不一致。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not saved: what {host} sent is no model file. If this network wants you to sign in first, do so in a browser; then download it again.</source>
    <extracomment>wrong_bytes.no_model</extracomment>
    <translation>未保存 {name}：{host} 发送的不是模型文件。如果此网络要求先登录，请在浏览器中登录，然后重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not saved: {host} sent the rest compressed, which was not asked for. The part already downloaded is kept. Resume it later, or over another network.</source>
    <extracomment>wrong_bytes.packed</extracomment>
    <translation>未保存 {name}：{host} 以压缩形式发送了剩余部分，而这并非所请求的。已下载的部分会保留。请稍后或通过其他网络继续下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was not saved: {offered:,} bytes are offered where {published:,} were announced. Download it again.</source>
    <extracomment>wrong_bytes.size</extracomment>
    <translation>未保存 {name}：声明为 {published:,} 字节，实际提供 {offered:,} 字节。请重新下载。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} was written by a newer version of {program} than Chickadee knows. It was skipped. Update Chickadee.</source>
    <extracomment>import.newer_program</extracomment>
    <translation>{name} 由 Chickadee 尚不支持的新版 {program} 写入，已跳过。请更新 Chickadee。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name} with {draft}</source>
    <extracomment>plan.pair</extracomment>
    <translation>{name} 与 {draft}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{name}: {kind}</source>
    <extracomment>not_a_chat_model.kind</extracomment>
    <translation>{name}：{kind}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{numbers} and more</source>
    <extracomment>unusable.and_more</extracomment>
    <translation>{numbers} 等</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{path} could not be written: {reason}.</source>
    <extracomment>export.unwritable</extracomment>
    <translation>无法写入 {path}：{reason}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{path} is a folder. Choose a model file; its name ends in .gguf.</source>
    <extracomment>not_a_model.folder</extracomment>
    <translation>{path} 是文件夹。请选择以 .gguf 结尾的模型文件。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{path} is not a file. Choose a model file; its name ends in .gguf.</source>
    <extracomment>not_a_model.no_file</extracomment>
    <translation>{path} 不是文件。请选择模型文件，其名称以 .gguf 结尾。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{problem} The built-in snippets are used instead of yours, and changes cannot be saved.</source>
    <extracomment>snippets.own_unreadable</extracomment>
    <translation>{problem}目前用内置片段代替你的片段，修改无法保存。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{problem} The built-in snippets are used instead of yours. When you next change one, the file is kept under another name.</source>
    <extracomment>snippets.own_damaged</extracomment>
    <translation>{problem}目前用内置片段代替你的片段。你下次修改时，原文件会以另一名称保留。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{problem} The part already downloaded is kept.</source>
    <extracomment>no_connection.part_kept</extracomment>
    <translation>{problem}已下载的部分会保留。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{rate} tok/s</source>
    <extracomment>unit.speed</extracomment>
    <translation>{rate} 词元/秒</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{reason} It was started {starts} times.</source>
    <extracomment>tool_server.gave_up</extracomment>
    <translation>{reason}已启动 {starts} 次。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{repo} contains no GGUF model that can be downloaded.</source>
    <extracomment>not_found.no_model</extracomment>
    <translation>{repo} 中没有可下载的 GGUF 模型。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{repo} has no file {file}. It has {listed}.</source>
    <extracomment>not_found.no_file</extracomment>
    <translation>{repo} 中没有文件 {file}。现有：{listed}。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{size:bytes} of the weights are held twice, as in the file and repacked for this processor: 1.2× faster.</source>
    <extracomment>plan.held_twice</extracomment>
    <translation>{size:bytes} 的权重保存两份（文件原样与针对本处理器重新打包），速度为 1.2 倍。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{time} h</source>
    <extracomment>unit.hours</extracomment>
    <translation>{time} 小时</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{time} min</source>
    <extracomment>unit.minutes</extracomment>
    <translation>{time} 分钟</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{time} s</source>
    <extracomment>unit.seconds</extracomment>
    <translation>{time} 秒</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{title} has arrived, but its file is of the kind “{found}”; the catalogue says “{stated}”. Memory and speed may differ from what was predicted.</source>
    <extracomment>other_kind.arrived</extracomment>
    <translation>{title} 已下载，但文件类型是“{found}”，目录中写的是“{stated}”。内存占用和速度可能与预测不同。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{usable:bytes} is available, {reserve:bytes} left for other programs</source>
    <extracomment>plan.available</extracomment>
    <translation>可用 {usable:bytes}，为其他程序预留 {reserve:bytes}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{usable:bytes} of the budget of {limit:bytes} is available</source>
    <extracomment>plan.budget</extracomment>
    <translation>{limit:bytes} 的限额中可用 {usable:bytes}</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>{variable}={name} is not known: choose one of {known}.</source>
    <extracomment>bad_option.processor</extracomment>
    <translation>{variable}={name} 无法识别：请从 {known} 中选择一个。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>“{address}” is no address of a web page.</source>
    <extracomment>refused.page_address</extracomment>
    <translation>“{address}”不是网页地址。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>“{address}” is not the address of a server: write it like http://gpu.lan:8000/v1 or https://api.example.com/v1.</source>
    <extracomment>bad_option.server</extracomment>
    <translation>“{address}”不是服务器地址：请写成 http://gpu.lan:8000/v1 或 https://api.example.com/v1 这样的形式。</translation>
  </message>
  <message>
    <location filename="../../common/messages.py"/>
    <source>“{repo}” is not a model on Hugging Face: write it like Qwen/Qwen3-4B-GGUF.</source>
    <extracomment>bad_option.repo</extracomment>
    <translation>“{repo}”不是 Hugging Face 上的模型：请按 Qwen/Qwen3-4B-GGUF 的形式填写。</translation>
  </message>
</context>
<context>
  <name>panel</name>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>About {time} in this chat</source>
    <translation>此对话约节省 {time}</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Cached tokens of this chat</source>
    <translation>此对话的缓存词元</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Common phrases</source>
    <translation>常用短语</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Cost of steps with several tokens</source>
    <translation>多词元步骤的耗时</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Cost per step</source>
    <translation>每步耗时</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Current memory</source>
    <translation>当前内存</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Early layers</source>
    <translation>模型前几层</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Engine monitor</source>
    <translation>引擎监视器</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Free</source>
    <translation>空闲</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Kept, in memory only</source>
    <translation>已保留，仅在内存中</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Kept, saved to disk</source>
    <translation>已保留，已存盘</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Left out</source>
    <translation>已略去</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Memory by head group</source>
    <translation>按注意力头分组的内存</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>No answers yet</source>
    <translation>尚无回答</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>No drafted tokens yet</source>
    <translation>尚无草稿词元</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Now</source>
    <translation>当前</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Other</source>
    <translation>其他</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Other chats</source>
    <translation>其他对话</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Other programs</source>
    <translation>其他程序</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Pending</source>
    <translation>待缓存</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Planned for a full context</source>
    <translation>预计（上下文全满时）</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Planned memory</source>
    <translation>预计内存</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Prompt lookup</source>
    <translation>提示词查找</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Reading: {speed}</source>
    <translation>读取：{speed}</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Room to grow</source>
    <translation>可扩展空间</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Saving power (always). Threads: {threads} for writing, {prompt_threads} for reading</source>
    <translation>正在节能（始终）。线程数：生成 {threads}，读取 {prompt_threads}</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Saving power (on battery). Threads: {threads} for writing, {prompt_threads} for reading</source>
    <translation>正在节能（使用电池）。线程数：生成 {threads}，读取 {prompt_threads}</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>The connection takes {size} of memory here.</source>
    <translation>该连接在本机占用 {size} 内存。</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>The model's own drafter</source>
    <translation>模型自带的起草器</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Time saved</source>
    <translation>节省的时间</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Tokens per step over the last minute</source>
    <translation>最近一分钟每步产生的词元</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Weights</source>
    <translation>权重</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Writing: {speed}</source>
    <translation>生成：{speed}</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>cost</source>
    <translation>耗时</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>measured</source>
    <translation>实测</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>no gain</source>
    <translation>无增益</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>seconds</source>
    <translation>秒</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>tokens</source>
    <translation>词元</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>tokens in the step</source>
    <translation>一步中的词元数</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>tokens per step</source>
    <translation>每步词元</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>{heads} heads, {held} of {room} entries, {size}</source>
    <translation>{heads} 个头，{held}/{room} 条，{size}</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>{host} computes the answers, so memory, cached tokens and drafts cannot be shown here. Choose a model on this computer to see them.</source>
    <translation>回答由 {host} 计算，因此这里无法显示内存、缓存的词元和草稿。要查看它们，请选择本机上的模型。</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>{name}: {accepted} of {drafted} drafted tokens accepted</source>
    <translation>{name}：采纳了 {drafted} 个草稿词元中的 {accepted} 个</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>{n} tokens per step</source>
    <translation>每步 {n} 个词元</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>{steps}, ×{gain} from speculative decoding</source>
    <translation>{steps}，推测解码 ×{gain}</translation>
  </message>
</context>
<context>
  <name>settings</name>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>A link in your message gets a button that reads the page and attaches its text. Chickadee connects only when you press the button.</source>
    <translation>消息中的链接会带有一个按钮，按下后读取该网页并附上其文字。只有按下按钮时才会连接。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>A part of the microphone's name. Empty: the system's default.</source>
    <translation>麦克风名称的一部分。留空则使用系统默认的麦克风。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Accurate</source>
    <translation>准确</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Address of a search server that models may ask, after a question to you: a SearXNG server's, such as https://searx.example.org, or any other with {query} in the place of the words. Empty: no web search.</source>
    <translation>模型可以查询的搜索服务器的地址，每次都会先询问你：SearXNG 服务器的地址，例如 https://searx.example.org，或任何以 {query} 代替搜索词的地址。留空：不搜索网络。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Advanced</source>
    <translation>高级</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>After a chat, when it has nothing else to do, the model proposes facts about you. Under Edit → Memory… you approve each one or refuse it. Models with fewer than 0.9 billion parameters propose nothing.</source>
    <translation>对话结束后空闲时，模型会提出一些关于你的内容。你在“编辑 → 记忆…”中逐条同意或拒绝。参数少于 9 亿的模型不会提出。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>After this many minutes without use, the model is removed from memory; the next message loads it again. 0: never. Automatic: after 10 minutes where memory is short, otherwise never.</source>
    <translation>闲置达到此分钟数后将模型移出内存；下一条消息会重新加载它。0：从不。自动：内存紧张时为 10 分钟，否则从不。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Answers</source>
    <translation>回答</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Ask me</source>
    <translation>询问我</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Automatic recognises the language from the first half minute. In short dictations it may be wrong.</source>
    <translation>“自动”根据开头半分钟识别语言。听写很短时可能出错。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>By itself</source>
    <translation>自动</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Chickadee connects only when you search for models, download them, check for new ones, use one on a server, or have a web page read. “Never” forbids all of this.</source>
    <translation>Chickadee 只在你搜索、下载或检查新模型、使用服务器上的模型或让它读取网页时才连接网络。选择“从不”会禁止以上全部。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Click the icon to ask a quick question in a small window. With the icon, Chickadee keeps running when you close the window. Some desktops, such as GNOME, have no tray.</source>
    <translation>点击图标可在小窗口中快速提问。显示图标时，关闭窗口后 Chickadee 继续运行。有些桌面（如 GNOME）没有系统托盘。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Connections</source>
    <translation>网络连接</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Dark</source>
    <translation>深色</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Fast</source>
    <translation>快速</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>General</source>
    <translation>通用</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Global setting</source>
    <translation>全局设置</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>How many times in a row the model may use tools for one question, in chats where tools are switched on. Then it answers with what it has.</source>
    <translation>在开启了工具的对话中，模型回答一个问题时最多可以连续使用工具的次数。之后它用已有的内容回答。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Icon in the tray</source>
    <translation>托盘图标</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>If an answer took 20 seconds or more and the window is in the background, the desktop shows a notification.</source>
    <translation>回答用时达到 20 秒且窗口在后台时，桌面会显示通知。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>In percent, from 80 to 200. Ctrl and + or - change it too; Ctrl+0 resets it.</source>
    <translation>百分比，80 到 200。也可用 Ctrl 加 + 或 - 调整，Ctrl+0 重置。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Keep other programs' context on disk</source>
    <translation>将其他程序的上下文保存到磁盘</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Keeps what the model has read for other programs in the cached context, so that their next requests are answered sooner. Off: only for requests that ask for it.</source>
    <translation>把模型为其他程序读取过的内容保存在上下文缓存中，使它们的下一个请求更快得到回答。关闭：仅当请求要求时才保存。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Language of dictation</source>
    <translation>听写语言</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Light</source>
    <translation>浅色</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Light or dark. System default follows the system, also when it changes.</source>
    <translation>浅色或深色。“系统默认”跟随系统，系统切换时也随之切换。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Microphone</source>
    <translation>麦克风</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Models are downloaded into this folder. Those in the previous folder stay there and are still found.</source>
    <translation>下载的模型保存到此文件夹。原文件夹中的模型留在原处，仍可找到。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Models folder</source>
    <translation>模型文件夹</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Never</source>
    <translation>从不</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Notify when an answer ends</source>
    <translation>回答完成时通知</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Offer to read linked pages</source>
    <translation>提供读取链接的网页</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Other computers in your network need a key. Their questions and answers are not encrypted on the way.</source>
    <translation>网络中的其他电脑需要密钥。问题和回答在传输途中不加密。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Other computers too</source>
    <translation>其他电脑也可以</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Other programs on this computer, such as editors and note apps, can ask the loaded model. Your own questions go first.</source>
    <translation>这台电脑上的其他程序（如编辑器、笔记应用）可以向已加载的模型提问。你自己的问题优先。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Port</source>
    <translation>端口</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Rounds of tools</source>
    <translation>工具轮数</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Speech model</source>
    <translation>语音识别模型</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Summaries of long chats</source>
    <translation>长对话的总结</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>System default</source>
    <translation>系统默认</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Text size</source>
    <translation>文字大小</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>The language of Chickadee's menus, buttons and messages. Models answer in the language you write in.</source>
    <translation>Chickadee 的菜单、按钮和提示所用的语言；模型会用你书写的语言回答。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>The number at the end of the address.</source>
    <translation>地址末尾的数字。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>The same as the window's</source>
    <translation>与界面相同</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Theme</source>
    <translation>主题</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>This computer only</source>
    <translation>仅这台电脑</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Titles by the model</source>
    <translation>由模型起标题</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Unload when idle</source>
    <translation>闲置时卸载</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Web search</source>
    <translation>网络搜索</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>When I ask for it</source>
    <translation>仅在我要求时</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>When a chat has nearly filled the context, the model sums up the oldest messages and goes on with the summary in their place. You can read, change and remove it; the messages stay.</source>
    <translation>当对话的上下文接近用满时，模型会总结最早的消息，并用总结代替它们继续对话。你可以查看、修改和移除总结；原消息会保留。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>When it has nothing else to do, the model gives a chat a short title in place of its first line. A title of your own stays. Models with fewer than 0.9 billion parameters are not asked, because their titles are poor.</source>
    <translation>模型空闲时会给对话起一个简短标题，代替第一行。你自己起的标题会保留。参数少于 9 亿的模型不用于起标题，因为效果不好。</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Who can connect</source>
    <translation>谁可以连接</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <source>Writes down what you dictate, on this computer. The accurate one takes 300 MB of memory and about twice as long.</source>
    <translation>在这台电脑上写下你的听写。“准确”占用 300 MB 内存，用时约为两倍。</translation>
  </message>
  <message>
    <location filename="../../app/settings/settings.py"/>
    <source>In {file}, {error}. The default is used.</source>
    <translation>{file} 中，{error}。已使用默认值。</translation>
  </message>
  <message>
    <location filename="../../app/settings/settings.py"/>
    <source>In {file}, {section} must be a section, [{section}]. Its defaults are used.</source>
    <translation>{file} 中，{section} 应为一个小节 [{section}]。已使用其默认值。</translation>
  </message>
  <message>
    <location filename="../../app/settings/settings.py"/>
    <source>The old {file} was not valid TOML and was kept as {kept}.</source>
    <translation>旧的 {file} 不是 TOML 格式，已保留为 {kept}。</translation>
  </message>
  <message>
    <location filename="../../app/settings/settings_file.py"/>
    <source>line {line} is not UTF-8 text</source>
    <translation>第 {line} 行不是 UTF-8 文本</translation>
  </message>
  <message>
    <location filename="../../app/settings/settings_file.py"/>
    <source>{file} cannot be read: {why}. The defaults are used.</source>
    <translation>无法读取 {file}：{why}。已使用默认值。</translation>
  </message>
  <message>
    <location filename="../../app/settings/settings_file.py"/>
    <source>{file} is not valid TOML: {why}. The defaults are used.</source>
    <translation>{file} 不是 TOML 格式：{why}。已使用默认值。</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>a list</source>
    <translation>列表</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>a number from {low} to {high}</source>
    <translation>{low} 到 {high} 之间的数</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>a size like 4GB, from {low} to {high}</source>
    <translation>{low} 到 {high} 之间的大小，如 4GB</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>a table</source>
    <translation>表</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>a text of at most {n:,.0f} characters</source>
    <translation>不超过 {n:,.0f} 个字符的文本</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>a whole number from {low} to {high}</source>
    <translation>{low} 到 {high} 之间的整数</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>the full path of a folder</source>
    <translation>一个文件夹的完整路径</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>{name} is {value}; it must be {allowed}</source>
    <translation>{name} 的值为 {value}，应为{allowed}</translation>
  </message>
  <message>
    <location filename="../../app/settings/values.py"/>
    <source>“{text}”</source>
    <translation>“{text}”</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>16 bits (f16)</source>
    <translation>16 位 (f16)</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>4 bits (q4_0)</source>
    <translation>4 位 (q4_0)</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>8 bits (q8_0)</source>
    <translation>8 位 (q8_0)</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>A small model of the same family that drafts tokens for this model to check.</source>
    <translation>同系列的小模型，为此模型起草词元并由此模型核对。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Above 0, words that were used recently are less likely to be used again. 0 turns this off.</source>
    <translation>大于 0 时，最近出现过的词更不容易再次出现。0 表示关闭。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Above 1, recent words are less likely to be repeated. At 1, small models can get stuck in loops.</source>
    <translation>大于 1 时，最近用过的词不易再次出现；为 1 时小模型容易陷入重复。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>After this many tokens of thinking the model must answer. 0: no limit.</source>
    <translation>思考达到此词元数后，模型必须开始回答。0 表示不限制。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Always</source>
    <translation>始终</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>An answer ends after this many tokens. Automatic: when the model ends it, or the context is full.</source>
    <translation>回答达到此词元数后结束。自动：由模型结束，或上下文已满。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Any</source>
    <translation>任意</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Automatic (on battery)</source>
    <translation>自动（使用电池时）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Automatic (on)</source>
    <translation>自动（开启）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Backend</source>
    <translation>计算后端</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Built-in engine (experimental)</source>
    <translation>内置引擎（实验性）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Common phrases, when faster</source>
    <translation>常用短语，更快时使用</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Computes attention without storing all scores. Uses less memory, and an 8-bit or 4-bit KV cache needs it. Off is for comparison.</source>
    <translation>计算注意力时不保存全部分数。占用内存更少，8 位或 4 位 KV 缓存需要它。关闭仅供比较。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Context</source>
    <translation>上下文</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Disk space</source>
    <translation>磁盘空间</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Draft layers</source>
    <translation>草稿层数</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Draft model (published)</source>
    <translation>草稿模型（论文方法）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Draft model, when faster</source>
    <translation>草稿模型，更快时使用</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Drafts several tokens ahead and lets the model check them at once, which can make answers faster. Tokens are drafted from the chat's own text, from common phrases, by layers that some models bring along for this, by a draft model (chosen in the options of a model) or by the model's own early layers (built-in engine only). If the chosen form is not available, “When faster” is used.</source>
    <translation>提前起草若干词元并让模型一次性检查，可以加快回答。词元可以根据对话本身的文字、常用短语、部分模型自带的起草层、草稿模型（在模型的选项中选择）或模型自身的前几层（仅限内置引擎）起草。如果所选方式不可用，则使用“更快时使用”。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Early layers (published)</source>
    <translation>模型前几层（论文方法）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Early layers, when faster</source>
    <translation>模型前几层，更快时使用</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Flash attention</source>
    <translation>Flash Attention</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Graphics processor</source>
    <translation>显卡</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Head compression</source>
    <translation>注意力头压缩</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>High</source>
    <translation>高</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>How exactly the model remembers the chat. Fewer bits leave room for a longer context and need flash attention.</source>
    <translation>模型记住对话内容的精确程度。位数越少，可容纳的上下文越长，但需要 Flash Attention。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>How many of the model's early layers draft tokens. Automatic: the fastest number that benchmarks.midlayer in Chickadee's source code has measured.</source>
    <translation>由模型的前多少层起草词元。自动：Chickadee 源代码中的 benchmarks.midlayer 测得的最快层数。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>How many tokens of a chat the model can see at once. Automatic: as many as fit into memory.</source>
    <translation>模型一次能看到的对话词元数。自动：取内存能容纳的最大值。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>How many tokens of a chat this model can see at once. Automatic: the global setting.</source>
    <translation>此模型一次能看到的对话词元数。自动：使用全局设置。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>How much the model thinks. Only for models that offer the choice, such as gpt-oss. Automatic: as the model's makers suggest.</source>
    <translation>模型思考多少。仅适用于提供此选项的模型，例如 gpt-oss。自动：按模型开发者的建议。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>How varied the wording is. 0 always takes the most likely token; higher values are more creative.</source>
    <translation>用词的变化程度。0 总是选最可能的词元，数值越大越有创意。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Instructions</source>
    <translation>指令</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Instructions that the model reads before every chat.</source>
    <translation>模型在每次对话之前都会读到的固定指令。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Instructions that the model reads before this chat.</source>
    <translation>模型在本次对话之前会读到的固定指令。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>KV cache policy</source>
    <translation>KV 缓存策略</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>KV cache precision</source>
    <translation>KV 缓存精度</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Keep all</source>
    <translation>全部保留</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Lossy: part of the model remembers less, so that long chats take less memory. Needs the built-in engine and a ranking of the model's heads, which benchmarks.rank_heads in Chickadee's source code makes.</source>
    <translation>有损：模型的一部分记得更少，使长对话占用更少内存。需要内置引擎，以及该模型注意力头的排名，由 Chickadee 源代码中的 benchmarks.rank_heads 生成。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Low</source>
    <translation>低</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Maximum answer length</source>
    <translation>回答长度上限</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Measured</source>
    <translation>按测量</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Medium</source>
    <translation>中</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Merged tokens (lossy)</source>
    <translation>合并词元（有损）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Min-p</source>
    <translation>Min-p</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Most recent</source>
    <translation>最近的</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Off (exact)</source>
    <translation>关闭（精确）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Only the most likely tokens that together reach this probability are considered. 1 turns this off.</source>
    <translation>只考虑累计概率达到此值的最可能词元。1 表示关闭。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Only this many of the most likely tokens are considered. 0 turns this off.</source>
    <translation>只考虑最可能的这么多个词元。0 表示关闭。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Presence penalty</source>
    <translation>存在惩罚</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Processor threads to use. Automatic: the number that suits this computer.</source>
    <translation>使用的处理器线程数。自动：选择适合本机的数量。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Processor threads used for this model. Automatic: the global setting.</source>
    <translation>此模型使用的处理器线程数。自动：使用全局设置。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup (published)</source>
    <translation>提示词查找（论文方法）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup (published): how many earlier matches are tried at once. Together with the tokens of each match, at most 64 tokens in all.</source>
    <translation>提示词查找（论文方法）：一次尝试多少个先前匹配。连同每处匹配的词元，总共最多 64 个词元。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup (published): how many of the last tokens must match earlier text.</source>
    <translation>提示词查找（论文方法）：最后多少个词元须与前文匹配。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup (published): how many tokens are drafted from each match.</source>
    <translation>提示词查找（论文方法）：从每处匹配起草多少个词元。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup (published): which earlier matches are tried.</source>
    <translation>提示词查找（论文方法）：尝试哪些先前匹配。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup, when faster</source>
    <translation>提示词查找，更快时使用</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup: match length</source>
    <translation>提示词查找：匹配长度</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup: matches (m)</source>
    <translation>提示词查找：匹配数 (m)</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup: tokens per match (n)</source>
    <translation>提示词查找：每处匹配的词元数 (n)</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Prompt lookup: which matches</source>
    <translation>提示词查找：选哪些匹配</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Published method (lossy)</source>
    <translation>论文方法（有损）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Published rule</source>
    <translation>论文规则</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Repeat penalty</source>
    <translation>重复惩罚</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Save power</source>
    <translation>节能</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Seed</source>
    <translation>随机种子</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Share of heads to compress</source>
    <translation>压缩的注意力头比例</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Sliding window (lossy)</source>
    <translation>滑动窗口（有损）</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Space for cached context, which lets long chats open quickly. 0 turns caching off and deletes the cache.</source>
    <translation>用于上下文缓存的空间，使长对话能快速打开。0 表示关闭缓存并删除已有缓存。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Temperature</source>
    <translation>温度</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>The library that runs models. Automatic: the faster one for each model, timed while the computer is idle.</source>
    <translation>运行模型的库。自动：电脑空闲时计时，为每个模型选择更快的一个。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>The model's own drafter, when faster</source>
    <translation>模型自带的起草器，更快时使用</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>The most memory the engine may use, for example 4GB. Automatic: free memory, less a reserve.</source>
    <translation>引擎最多可使用的内存，例如 4GB。自动：可用内存减去预留部分。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>The share of attention heads to compress, from 0.01 to 1. Automatic: a quarter.</source>
    <translation>要压缩的注意力头比例，0.01 到 1。自动：四分之一。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>The share of this model's attention heads to compress, from 0.01 to 1. Automatic: the global setting.</source>
    <translation>此模型中要压缩的注意力头比例，0.01 到 1。自动：使用全局设置。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Think first</source>
    <translation>先思考</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Thinking effort</source>
    <translation>思考强度</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Thinking limit</source>
    <translation>思考上限</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Threads</source>
    <translation>线程数</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Tokens below this share of the most likely token's probability are not considered. 0 turns this off.</source>
    <translation>不考虑概率低于最可能词元概率此比例的词元。0 表示关闭。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Top-k</source>
    <translation>Top-k</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Top-p</source>
    <translation>Top-p</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Uses fewer threads where that costs little speed, and leaves work for idle time until the computer is plugged in.</source>
    <translation>在对速度影响很小时使用较少的线程，并把空闲时的工作留到接通电源后再做。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>What may compute beside the processor. Automatic: a graphics processor that was timed to be faster.</source>
    <translation>除处理器外可参与计算的硬件。自动：使用测速结果更快的显卡。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>When faster</source>
    <translation>更快时使用</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Whether the model thinks before it answers. Only for models that offer the choice. Automatic: as the model's makers suggest.</source>
    <translation>模型回答前是否先思考。仅适用于提供此选项的模型。自动：按模型开发者的建议。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Which tokens stay in the KV cache: all of them, or those chosen by measurements on this computer or by a published rule.</source>
    <translation>哪些词元留在 KV 缓存中：全部，或由本机测量或论文规则选定的部分。</translation>
  </message>
  <message>
    <location filename="../../engine/protocol/settings.py"/>
    <source>With ik_llama.cpp, the same seed gives the same answer to the same chat; with llama.cpp, rounding can change it. Automatic: a new seed each time.</source>
    <translation>使用 ik_llama.cpp 时，相同的种子对相同的对话给出相同的回答；使用 llama.cpp 时，舍入误差可能使回答不同。自动：每次使用新种子。</translation>
  </message>
</context>
<context>
  <name>shared</name>
  <message>
    <location filename="../../app/attachments/attachment.py"/>
    <location filename="../../app/control/server_contents.py"/>
    <source>“{name}” is empty.</source>
    <translation>“{name}”是空文件。</translation>
  </message>
  <message>
    <location filename="../../app/attachments/kinds.py"/>
    <location filename="../../app/markdown/code_view.py"/>
    <source>code</source>
    <translation>代码</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/control/quick_controller.py"/>
    <source>&amp;Quit</source>
    <translation>退出(&amp;Q)</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/window.py"/>
    <source>Attach files</source>
    <translation>添加文件</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Copy message</source>
    <translation>复制消息</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Delete message</source>
    <translation>删除消息</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Edit message</source>
    <translation>编辑消息</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Next version</source>
    <translation>下一个版本</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Previous version</source>
    <translation>上一个版本</translation>
  </message>
  <message>
    <location filename="../../app/commands/commands.py"/>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <location filename="../../app/store/kept_files.py"/>
    <source>Settings</source>
    <translation>设置</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <location filename="../../app/transcript/welcome.py"/>
    <source>A chickadee</source>
    <translation>一只山雀</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/guide.py"/>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <location filename="../../app/dialogs/model_options.py"/>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <location filename="../../app/dialogs/source_dialog.py"/>
    <location filename="../../app/panel/engine_panel.py"/>
    <location filename="../../app/transcript/find_bar.py"/>
    <source>Close</source>
    <translation>关闭</translation>
  </message>
  <message>
    <location filename="../../app/commands/help.py"/>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Copy</source>
    <translation>复制</translation>
  </message>
  <message>
    <location filename="../../app/commands/palette.py"/>
    <location filename="../../app/dialogs/settings_dialog.py"/>
    <location filename="../../app/sidebar/sidebar.py"/>
    <location filename="../../app/transcript/find_bar.py"/>
    <source>No results</source>
    <translation>无结果</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <location filename="../../app/control/draft_files.py"/>
    <source>Use it</source>
    <translation>使用它</translation>
  </message>
  <message>
    <location filename="../../app/composer/chat_model_line.py"/>
    <location filename="../../app/control/smaller_model_controller.py"/>
    <source>Use {model}</source>
    <translation>改用 {model}</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <location filename="../../app/composer/queued_message.py"/>
    <location filename="../../app/composer/tray.py"/>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <location filename="../../app/dialogs/tools_page.py"/>
    <location filename="../../app/transcript/summary_box.py"/>
    <source>Remove</source>
    <translation>移除</translation>
  </message>
  <message>
    <location filename="../../app/composer/chips.py"/>
    <location filename="../../app/dialogs/source_dialog.py"/>
    <source>Text of {name}</source>
    <translation>{name} 的文本</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/chips.py"/>
    <location filename="../../app/control/own_tools.py"/>
    <source>{n} pages</source>
    <extracomment>n = 1: {n} page</extracomment>
    <translation><numerusform>{n} 页</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/chips.py"/>
    <location filename="../../app/state/answer_facts.py"/>
    <location filename="../../app/state/prompt.py"/>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>{n} tokens</source>
    <extracomment>n = 1: {n} token</extracomment>
    <translation><numerusform>{n} 个词元</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <location filename="../../app/composer/consent_line.py"/>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Send</source>
    <translation>发送</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <location filename="../../app/control/summary_controller.py"/>
    <location filename="../../app/sidebar/sidebar.py"/>
    <source>Stop</source>
    <translation>停止</translation>
  </message>
  <message>
    <location filename="../../app/composer/composer.py"/>
    <location filename="../../app/look/live.py"/>
    <location filename="../../app/quick_window.py"/>
    <location filename="../../app/transcript/find_bar.py"/>
    <source>{words} ({keys})</source>
    <translation>{words} ({keys})</translation>
  </message>
  <message>
    <location filename="../../app/composer/queued_message.py"/>
    <location filename="../../app/transcript/summary_box.py"/>
    <source>Edit</source>
    <translation>编辑</translation>
  </message>
  <message>
    <location filename="../../app/composer/snippet_popup.py"/>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <location filename="../../app/store/kept_files.py"/>
    <source>Prompt snippets</source>
    <translation>提示词片段</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <location filename="../../app/panel/engine_panel.py"/>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Memory</source>
    <translation>内存</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <location filename="../../app/dialogs/model_details.py"/>
    <source>Model</source>
    <translation>模型</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>Speed</source>
    <translation>速度</translation>
  </message>
  <message>
    <location filename="../../app/composer/status_line.py"/>
    <location filename="../../app/state/prompt.py"/>
    <source>{used:,} of {n_ctx:,} tokens of context used</source>
    <translation>上下文已用 {used:,} / {n_ctx:,} 个词元</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/switch_button.py"/>
    <location filename="../../app/state/projects.py"/>
    <source>{n} collections</source>
    <extracomment>n = 1: {n} collection</extracomment>
    <translation><numerusform>{n} 个集合</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/composer/switch_button.py"/>
    <location filename="../../app/dialogs/tools_page.py"/>
    <source>{n} tools</source>
    <extracomment>n = 1: {n} tool</extracomment>
    <translation><numerusform>{n} 个工具</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/composer/tool_question.py"/>
    <location filename="../../app/transcript/model_offers.py"/>
    <source>Not now</source>
    <translation>暂不</translation>
  </message>
  <message>
    <location filename="../../app/control/context_menu.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Leave out the oldest turn</source>
    <translation>略去最早的一轮对话</translation>
  </message>
  <message>
    <location filename="../../app/control/dictation_controller.py"/>
    <location filename="../../app/control/draft_files.py"/>
    <location filename="../../app/control/model_controller.py"/>
    <location filename="../../app/control/offer_controller.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Download</source>
    <translation>下载</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Restore</source>
    <translation>恢复</translation>
  </message>
  <message>
    <location filename="../../app/control/message_controller.py"/>
    <location filename="../../app/control/model_controller.py"/>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/memory_dialog.py"/>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <location filename="../../app/dialogs/tools_page.py"/>
    <location filename="../../app/notice.py"/>
    <source>Undo</source>
    <translation>撤销</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Add file…</source>
    <translation>添加文件…</translation>
  </message>
  <message>
    <location filename="../../app/control/model_controller.py"/>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <source>Add folder…</source>
    <translation>添加文件夹…</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>On this computer</source>
    <translation>本机</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Pause</source>
    <translation>暂停</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Resume</source>
    <translation>继续</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>Use</source>
    <translation>使用</translation>
  </message>
  <message>
    <location filename="../../app/control/offer_controller.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <source>{time} left</source>
    <translation>还需 {time}</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/control/own_tools.py"/>
    <location filename="../../app/store/recovery.py"/>
    <source>{n} messages</source>
    <extracomment>n = 1: {n} message</extracomment>
    <translation><numerusform>{n} 条消息</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/control/project_controller.py"/>
    <location filename="../../app/dialogs/project_dialog.py"/>
    <source>Read again</source>
    <translation>重新读取</translation>
  </message>
  <message>
    <location filename="../../app/control/server_contents.py"/>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <location filename="../../app/dialogs/import_dialog.py"/>
    <location filename="../../app/dialogs/model_list.py"/>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <location filename="../../app/dialogs/snippet_form.py"/>
    <location filename="../../app/dialogs/storage_page.py"/>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Cancel</source>
    <translation>取消</translation>
  </message>
  <message>
    <location filename="../../app/control/status_controller.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Try again</source>
    <translation>重试</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <location filename="../../app/settings/schema.py"/>
    <source>Key</source>
    <translation>密钥</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>None</source>
    <translation>无</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/api_page.py"/>
    <location filename="../../app/settings/schema.py"/>
    <source>Programs must send this key.</source>
    <translation>程序必须发送此密钥。</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Delete</source>
    <translation>删除</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/chat_panel.py"/>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <location filename="../../app/dialogs/tool_server_dialog.py"/>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Save</source>
    <translation>保存</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/collections_dialog.py"/>
    <location filename="../../app/dialogs/storage_page.py"/>
    <location filename="../../app/state/projects.py"/>
    <source>{n} files</source>
    <extracomment>n = 1: {n} file</extracomment>
    <translation><numerusform>{n} 个文件</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_tree.py"/>
    <location filename="../../app/transcript/scrolling_column.py"/>
    <source>Messages</source>
    <translation>消息</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/dialogs/import_tree.py"/>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <location filename="../../app/store/recovery.py"/>
    <source>{n} chats</source>
    <extracomment>n = 1: {n} chat</extracomment>
    <translation><numerusform>{n} 个对话</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/dialogs/import_tree.py"/>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>{title} · {when}</source>
    <translation>{title} · {when}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Speculative decoding</source>
    <translation>推测解码</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/model_details.py"/>
    <location filename="../../app/dialogs/tools_page.py"/>
    <location filename="../../app/settings/schema.py"/>
    <source>Tools</source>
    <translation>工具</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/markdown/code_view.py"/>
    <source>Code</source>
    <translation>代码</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/notice.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Details</source>
    <translation>详情</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/transcript/model_offers.py"/>
    <source>Download progress of {model}</source>
    <translation>{model} 的下载进度</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/settings/schema.py"/>
    <source>Language</source>
    <translation>语言</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../app/store/kept_files.py"/>
    <source>Models</source>
    <translation>模型</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/models_dialog.py"/>
    <location filename="../../app/transcript/model_offers.py"/>
    <source>{action}: {model}</source>
    <translation>{action}：{model}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/server_dialog.py"/>
    <location filename="../../common/messages.py"/>
    <source>{first} {second}</source>
    <extracomment>sentences.two</extracomment>
    <translation>{first}{second}</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/setting_row.py"/>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Automatic</source>
    <translation>自动</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/snippet_dialog.py"/>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Export…</source>
    <translation>导出…</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/source_dialog.py"/>
    <location filename="../../app/transcript/source_links.py"/>
    <source>all of it</source>
    <translation>全部内容</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/storage_page.py"/>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Delete permanently</source>
    <translation>永久删除</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Off</source>
    <translation>关闭</translation>
  </message>
  <message>
    <location filename="../../app/dialogs/tools_page.py"/>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>On</source>
    <translation>开启</translation>
  </message>
  <message>
    <location filename="../../app/markdown/code_view.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Copy code</source>
    <translation>复制代码</translation>
  </message>
  <message>
    <location filename="../../app/markdown/prose_view.py"/>
    <location filename="../../app/quick_window.py"/>
    <location filename="../../app/transcript/message_actions.py"/>
    <location filename="../../app/transcript/message_view.py"/>
    <source>Answer</source>
    <translation>回答</translation>
  </message>
  <message>
    <location filename="../../app/model_fit.py"/>
    <location filename="../../app/panel/engine_panel.py"/>
    <source>KV cache</source>
    <translation>KV 缓存</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <location filename="../../engine/protocol/settings.py"/>
    <source>Draft model</source>
    <translation>草稿模型</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <location filename="../../app/settings/schema.py"/>
    <source>Engine</source>
    <translation>引擎</translation>
  </message>
  <message>
    <location filename="../../app/panel/engine_panel.py"/>
    <location filename="../../app/settings/schema.py"/>
    <source>Local API</source>
    <translation>本地 API</translation>
  </message>
  <message>
    <location filename="../../app/settings/schema.py"/>
    <location filename="../../app/store/kept_files.py"/>
    <source>Cached context</source>
    <translation>上下文缓存</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <location filename="../../app/store/kept_files.py"/>
    <source>Chats</source>
    <translation>对话</translation>
  </message>
  <message>
    <location filename="../../app/store/formats.py"/>
    <location filename="../../app/transcript/message_view.py"/>
    <source>You</source>
    <translation>你</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_view.py"/>
    <location filename="../../common/messages.py"/>
    <source>Stopped.</source>
    <extracomment>cancelled.request</extracomment>
    <translation>已停止。</translation>
  </message>
</context>
<context>
  <name>sidebar</name>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Delete all permanently…</source>
    <translation>全部永久删除…</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Delete permanently…</source>
    <translation>永久删除…</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Deleted chats</source>
    <translation>已删除的对话</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Deleted chats are kept here for 30 days, then deleted permanently.</source>
    <translation>删除的对话在此保留 30 天，之后永久删除。</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>No deleted chats. Deleted chats are kept here for 30 days.</source>
    <translation>没有已删除的对话。删除后会在这里保留 30 天。</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>Recently deleted</source>
    <translation>最近删除</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>These {n} chats will be deleted permanently.</source>
    <extracomment>n = 1: This chat will be deleted permanently.</extracomment>
    <translation><numerusform>这 {n} 个对话将被永久删除。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>This chat will be deleted permanently.</source>
    <translation>此对话将被永久删除。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/sidebar/bin_dialog.py"/>
    <source>kept for {n} more days</source>
    <extracomment>n = 1: kept for {n} more day</extracomment>
    <translation><numerusform>还将保留 {n} 天</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Delete folder, keep its chats</source>
    <translation>删除文件夹，保留其中的对话</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Delete {n} chats</source>
    <extracomment>n = 1: Delete</extracomment>
    <translation><numerusform>删除 {n} 个对话</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Move to folder</source>
    <translation>移动到文件夹</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>New chat here</source>
    <translation>在此新建对话</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>New folder…</source>
    <translation>新建文件夹…</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>New name</source>
    <translation>新名称</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Pin</source>
    <translation>置顶</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Project…</source>
    <translation>项目…</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Remove from folder</source>
    <translation>移出文件夹</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Rename</source>
    <translation>重命名</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Unpin</source>
    <translation>取消置顶</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_list.py"/>
    <source>Use first line as title</source>
    <translation>用第一行作标题</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>April</source>
    <translation>4月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>August</source>
    <translation>8月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>December</source>
    <translation>12月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>February</source>
    <translation>2月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>Folder {name}, {chats}</source>
    <translation>文件夹 {name}，{chats}</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>Folder {name}, {chats}, collapsed</source>
    <translation>文件夹 {name}，{chats}，已折叠</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>January</source>
    <translation>1月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>July</source>
    <translation>7月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>June</source>
    <translation>6月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>March</source>
    <translation>3月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>May</source>
    <translation>5月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>November</source>
    <translation>11月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>October</source>
    <translation>10月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>Pinned</source>
    <translation>置顶</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>September</source>
    <translation>9月</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>Temporary</source>
    <translation>临时</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>{month} {year}</source>
    <translation>{year}年{month}</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>{name}: a new answer</source>
    <translation>{name}：有新回答</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/chat_rows.py"/>
    <source>{name}: an answer is being written</source>
    <translation>{name}：正在回答</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/search_view.py"/>
    <source>Clear search</source>
    <translation>清除搜索</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/search_view.py"/>
    <source>Search chats</source>
    <translation>搜索对话</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/search_view.py"/>
    <source>Search results</source>
    <translation>搜索结果</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/search_view.py"/>
    <source>{title}: {words}</source>
    <translation>{title}：{words}</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/sidebar.py"/>
    <source>New chat</source>
    <translation>新对话</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/sidebar.py"/>
    <source>Recently deleted ({count})</source>
    <translation>最近删除（{count}）</translation>
  </message>
  <message>
    <location filename="../../app/sidebar/sidebar.py"/>
    <source>Your chats appear here.</source>
    <translation>你的对话会列在这里。</translation>
  </message>
</context>
<context>
  <name>state</name>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source> (page {pages})</source>
    <translation>（第 {pages} 页）</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/state/answer_facts.py"/>
    <source> (pages {pages})</source>
    <extracomment>n = 1:  (page {pages})</extracomment>
    <translation><numerusform>（第 {pages} 页）</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/state/answer_facts.py"/>
    <source>From {name}: parts {parts} of {total}</source>
    <extracomment>n = 1: From {name}: part {parts} of {total}</extracomment>
    <translation><numerusform>来自 {name}：第 {parts} 部分，共 {total} 部分</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source>Nothing about this was found in {name}.</source>
    <translation>在 {name} 中没有找到与此有关的内容。</translation>
  </message>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source>Nothing from {name} was sent.</source>
    <translation>没有发送 {name} 的内容。</translation>
  </message>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source>page {n}</source>
    <translation>第 {n} 页</translation>
  </message>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source>pictures: {tokens} seen in {time}</source>
    <translation>图片：{tokens}，用时 {time}</translation>
  </message>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source>{tokens} in {time}, {speed}</source>
    <translation>{tokens}，用时 {time}，{speed}</translation>
  </message>
  <message>
    <location filename="../../app/state/answer_facts.py"/>
    <source>{tokens} of the prompt read, {known} from the cache</source>
    <translation>提示词读取了 {tokens}，另有 {known} 来自缓存</translation>
  </message>
  <message>
    <location filename="../../app/state/open_chats.py"/>
    <source>{title} (branch)</source>
    <translation>{title}（分支）</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>A persona needs a name.</source>
    <translation>角色需要一个名称。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Answer with a list of ten different, surprising ideas, one line each.</source>
    <translation>用列表给出十个不同的、出人意料的想法，每个一行。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Brainstormer</source>
    <translation>头脑风暴</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Code helper</source>
    <translation>编程助手</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Correct spelling, grammar and style. Keep the language and the meaning. Answer with the new text only.</source>
    <translation>修正拼写、语法和文风。保持原来的语言和意思。只回答修改后的文本。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Editor</source>
    <translation>编辑</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Summarize what the user writes in at most five short points, in its own language. Add nothing to it.</source>
    <translation>用原文的语言，把用户写的内容概括为最多五个简短要点。不要添加任何内容。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Summarizer</source>
    <translation>摘要</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>There is already a persona “{name}”.</source>
    <translation>已有名为“{name}”的角色。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Translate what the user writes into English. Answer with the translation only.</source>
    <translation>把用户写的内容翻译成中文。只回答译文。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>Translator</source>
    <translation>翻译</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>You are a careful programmer. Answer with working code first, then explain it in a few sentences.</source>
    <translation>你是一位严谨的程序员。先给出可运行的代码，再用几句话解释。</translation>
  </message>
  <message>
    <location filename="../../app/state/persona.py"/>
    <source>“{name}” is built in. Choose another name.</source>
    <translation>“{name}”是内置角色。请换一个名称。</translation>
  </message>
  <message>
    <location filename="../../app/state/projects.py"/>
    <source>instructions</source>
    <translation>指令</translation>
  </message>
  <message>
    <location filename="../../app/state/projects.py"/>
    <source>settings</source>
    <translation>设置</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/state/projects.py"/>
    <source>{n} chats no longer have what “{name}” gives its chats: {contents}.</source>
    <extracomment>n = 1: The chat no longer has what “{name}” gives its chats: {contents}.</extracomment>
    <translation><numerusform>{n} 个对话不再带有“{name}”的内容：{contents}。</numerusform></translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/state/projects.py"/>
    <source>{n} chats now have what “{name}” gives its chats: {contents}.</source>
    <extracomment>n = 1: The chat now has what “{name}” gives its chats: {contents}.</extracomment>
    <translation><numerusform>{n} 个对话现在带有“{name}”的内容：{contents}。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/state/prompt.py"/>
    <source>Always kept: what the chat begins with and the summary{size}</source>
    <translation>始终保留：对话开头的内容与摘要{size}</translation>
  </message>
  <message>
    <location filename="../../app/state/prompt.py"/>
    <source>Always kept: what the chat begins with{size}</source>
    <translation>始终保留：对话开头的内容{size}</translation>
  </message>
  <message>
    <location filename="../../app/state/prompt.py"/>
    <source>Left out next, if you agree: “{title}”{size}</source>
    <translation>下一步将略去（经你同意）：“{title}”{size}</translation>
  </message>
  <message>
    <location filename="../../app/state/prompt.py"/>
    <source>Left out, as you chose: {which}{size}</source>
    <translation>已按你的选择略去：{which}{size}</translation>
  </message>
  <message>
    <location filename="../../app/state/prompt.py"/>
    <source>the oldest turn</source>
    <translation>最早的一轮对话</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/state/prompt.py"/>
    <source>the oldest {n} turns</source>
    <extracomment>n = 1: the oldest turn</extracomment>
    <translation><numerusform>最早的 {n} 轮对话</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/state/saving.py"/>
    <source>You can go on chatting, but what is not saved is lost when you close the window.</source>
    <translation>你可以继续对话，但关闭窗口后未保存的内容会丢失。</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>A snippet may have {most:,} characters. Attach longer texts as a file.</source>
    <translation>片段最多 {most:,} 个字符。更长的文字请作为文件附上。</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>A snippet needs a name.</source>
    <translation>片段需要一个名称。</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>A snippet needs a text.</source>
    <translation>片段需要有内容。</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Correct my text</source>
    <translation>修改我的文字</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Correct spelling, grammar and style of this text. Keep its language and its meaning. Answer with the corrected text only.

{{clipboard}}</source>
    <translation>修改下面文字中的错别字、语法和文风问题，保持原来的语言和意思。只回答修改后的文字。

{{clipboard}}</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Explain simply</source>
    <translation>简单解释</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Explain {{what}} in simple words, with one example from everyday life.</source>
    <translation>用简单的话解释{{要解释的内容}}，并举一个日常生活中的例子。</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Summarize</source>
    <translation>总结</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Summarize this text in at most five short points, in the language of the text.

{{clipboard}}</source>
    <translation>用这段文字的语言，把它总结为最多五个简短要点。

{{clipboard}}</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>There is room for {most:,} snippets. Delete one first.</source>
    <translation>最多可保存 {most:,} 个片段。请先删除一个。</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Today is {{date}}. Write a short, friendly e-mail to {{recipient}}. What it must say: {{what it must say}}</source>
    <translation>今天是{{date}}。给{{收件人}}写一封简短、友好的邮件，内容包括：{{要说的内容}}</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Translate</source>
    <translation>翻译</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Translate this text into {{language=English}}. Answer with the translation only.

{{selection}}</source>
    <translation>把下面的文字翻译成{{语言=英语}}。只回答译文。

{{selection}}</translation>
  </message>
  <message>
    <location filename="../../app/state/snippets.py"/>
    <source>Write an e-mail</source>
    <translation>写邮件</translation>
  </message>
</context>
<context>
  <name>store</name>
  <message>
    <location filename="../../app/store/chat.py"/>
    <source>Last 30 days</source>
    <translation>最近 30 天</translation>
  </message>
  <message>
    <location filename="../../app/store/chat.py"/>
    <source>Last 7 days</source>
    <translation>最近 7 天</translation>
  </message>
  <message>
    <location filename="../../app/store/chat.py"/>
    <source>Today</source>
    <translation>今天</translation>
  </message>
  <message>
    <location filename="../../app/store/chat.py"/>
    <source>Yesterday</source>
    <translation>昨天</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>Folder of Markdown files, for reading (*.md)</source>
    <translation>Markdown 文件夹，用于阅读 (*.md)</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>Folder of PDF files, for reading (*.pdf)</source>
    <translation>PDF 文件夹，用于阅读 (*.pdf)</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>Folder of web pages, for reading (*.html)</source>
    <translation>网页文件夹，用于阅读 (*.html)</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>JSON, can be imported again (*.json)</source>
    <translation>JSON，可再次导入 (*.json)</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>Markdown, for reading (*.md)</source>
    <translation>Markdown，用于阅读 (*.md)</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>PDF, for reading (*.pdf)</source>
    <translation>PDF，用于阅读 (*.pdf)</translation>
  </message>
  <message>
    <location filename="../../app/store/exchange.py"/>
    <source>Web page, for reading (*.html)</source>
    <translation>网页，用于阅读 (*.html)</translation>
  </message>
  <message>
    <location filename="../../app/store/formats.py"/>
    <source>*Attached: {name}*</source>
    <translation>*附件：{name}*</translation>
  </message>
  <message>
    <location filename="../../app/store/formats.py"/>
    <source>*Attached: {page}, read on {day}*</source>
    <translation>*附件：{page}，读取于 {day}*</translation>
  </message>
  <message>
    <location filename="../../app/store/formats.py"/>
    <source>*Tool: {tool}*</source>
    <translation>*工具：{tool}*</translation>
  </message>
  <message>
    <location filename="../../app/store/formats.py"/>
    <source>Assistant</source>
    <translation>助手</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Delete all chats permanently? Projects, personas and memory are kept.</source>
    <translation>要永久删除全部对话吗？项目、角色与记忆会保留。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Delete the cached context? Models will read your chats again.</source>
    <translation>删除上下文缓存？模型将重新读取你的对话。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Delete the index? It is made again while the computer is idle.</source>
    <translation>删除索引？电脑空闲时会重新建立。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Delete the logs?</source>
    <translation>删除日志？</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Delete the measurements? They are taken again while the computer is idle.</source>
    <translation>删除测量数据？电脑空闲时会重新测量。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Downloaded model files. Delete them in the Models window.</source>
    <translation>已下载的模型文件。请在“模型”窗口中删除。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Index of collections</source>
    <translation>集合的索引</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Logs</source>
    <translation>日志</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Measurements</source>
    <translation>测量数据</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Messages, files, projects, personas and memory, and chats deleted in the last 30 days.</source>
    <translation>消息、文件、项目、角色与记忆，以及最近 30 天内删除的对话。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Reports from the program. They contain nothing from your chats.</source>
    <translation>程序运行记录，不含任何对话内容。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Texts and words of the documents in your collections. The documents stay where they are.</source>
    <translation>你集合中文档的文本和词语。文档保留在原处。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Texts that you insert by typing / in a message. Delete them one by one under Edit → Prompt snippets…</source>
    <translation>在消息中输入 / 即可插入的文字。可在“编辑 → 提示词片段…”中逐个删除。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>The speed of this computer, results for each model, and details of model files.</source>
    <translation>本机速度、每个模型的测量结果以及模型文件信息。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>What models have already read of your chats, so that long chats open quickly.</source>
    <translation>模型已读取的对话内容，使长对话能快速打开。</translation>
  </message>
  <message>
    <location filename="../../app/store/kept_files.py"/>
    <source>Your settings, the position of the window, and keys of servers where the system has no keyring.</source>
    <translation>你的设置、窗口位置，以及系统没有密钥环时的服务器密钥。</translation>
  </message>
  <message>
    <location filename="../../app/store/recovery.py"/>
    <source>The damaged file was kept as {path}.</source>
    <translation>已损坏的文件保留为 {path}。</translation>
  </message>
  <message>
    <location filename="../../app/store/recovery.py"/>
    <source>The file with your chats was damaged, and none of its chats could be read.</source>
    <translation>对话文件已损坏，其中的对话均无法读取。</translation>
  </message>
  <message>
    <location filename="../../app/store/recovery.py"/>
    <source>The file with your chats was damaged. Recovered: {chats} with {messages}.</source>
    <translation>对话文件曾损坏，已恢复{chats}，共{messages}。</translation>
  </message>
</context>
<context>
  <name>suggestions</name>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Answers at once, without thoughts; follows instructions well in many languages.</source>
    <translation>直接回答，不先思考；支持多种语言，善于遵循指令。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Eleven languages, those of Europe above all; letters, summaries and translations.</source>
    <translation>支持十一种语言，尤以欧洲语言见长；适合写信、摘要和翻译。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Explains, completes and corrects code.</source>
    <translation>解释、补全和修正代码。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Follows instructions closely; summaries, tables and questions about documents.</source>
    <translation>严格遵循指令；适合摘要、表格和文档问答。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>For 16 GB and more: thinks well and stays quick; best in English.</source>
    <translation>适合 16 GB 及以上内存：善于思考且速度快；英文最佳。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>For 24 GB and more: wide knowledge at the speed of a small model.</source>
    <translation>适合 24 GB 及以上内存：知识广博，速度如小模型。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>For a laptop with 16 GB: careful answers and code; can think before it answers.</source>
    <translation>适合 16 GB 内存的笔记本：回答和代码都很细致；可先思考再回答。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>For computers with 4 GB: many languages in half a gigabyte.</source>
    <translation>适合 4 GB 内存的电脑：半个 GB，支持多种语言。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>For computers with 4 GB: tiny and fast, for short summaries and for pulling facts out of a text.</source>
    <translation>适合 4 GB 内存的电脑：小巧快速，可写短摘要、从文本中提取信息。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>For small pieces of code; can speed up the larger Qwen2.5 Coder.</source>
    <translation>适合短小的代码；可为更大的 Qwen2.5 Coder 加速。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Free of charge for private use, for research and for companies with a yearly revenue below 10 million US dollars. Larger companies need a paid licence from Liquid AI.</source>
    <translation>个人使用、研究以及年收入低于 1000 万美元的公司免费。更大的公司须向 Liquid AI 购买许可。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Fully open, training data included; everyday questions in English.</source>
    <translation>完全开放，包括训练数据；适合英文日常问题。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Knows many programming languages; completes and corrects code.</source>
    <translation>熟悉多种编程语言；可补全和修正代码。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Natural conversation and translation; for a laptop with 12 GB or more.</source>
    <translation>对话和翻译自然流畅；适合 12 GB 及以上内存的笔记本。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Natural conversation in many languages; quick for its quality.</source>
    <translation>多语言对话自然流畅；同等质量下速度快。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Open data and six European languages; can think before it answers.</source>
    <translation>数据开放，支持六种欧洲语言；可先思考再回答。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Quick answers in many languages, with little memory for long chats.</source>
    <translation>多语言快速回答，长对话占用内存少。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Quick, and needs little memory for very long documents.</source>
    <translation>速度快，处理很长的文档时占用内存少。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Small, thinks before it answers; can speed up the larger Qwen3.</source>
    <translation>小巧，先思考再回答；可为更大的 Qwen3 加速。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Strong at reasoning and maths for its size; has little general knowledge.</source>
    <translation>在同等大小中推理和数学较强；常识知识较少。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>The best answers that a laptop with 8 GB can give; can think before it answers.</source>
    <translation>8 GB 内存的笔记本能得到的最佳回答；可先思考再回答。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>The fastest one that holds a conversation; little memory even for long texts.</source>
    <translation>能正常对话的最快模型；处理长文本也只占用少量内存。</translation>
  </message>
  <message>
    <location filename="../../assets/catalogue.toml"/>
    <source>Thinks at the speed of a tiny model: only a fifth of it works on each word.</source>
    <translation>以极小模型的速度思考：生成每个词只动用五分之一的权重。</translation>
  </message>
</context>
<context>
  <name>tools</name>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Calculator</source>
    <translation>计算器</translation>
  </message>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Date and time</source>
    <translation>日期和时间</translation>
  </message>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Read a web page</source>
    <translation>读取网页</translation>
  </message>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Read the chat's files</source>
    <translation>读取此对话的文件</translation>
  </message>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Search the chat's collections</source>
    <translation>搜索此对话的文档集合</translation>
  </message>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Search the web</source>
    <translation>搜索网络</translation>
  </message>
  <message>
    <location filename="../../app/tools/own.py"/>
    <source>Search your other chats</source>
    <translation>搜索你的其他对话</translation>
  </message>
</context>
<context>
  <name>transcript</name>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Answer now</source>
    <translation>立即回答</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>End the thought; the answer follows at once</source>
    <translation>结束思考，马上回答</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Hide reasoning</source>
    <translation>隐藏思考过程</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Show reasoning</source>
    <translation>显示思考过程</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Thinking…</source>
    <translation>正在思考…</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Thinking… {time}</source>
    <translation>正在思考… {time}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Thought</source>
    <translation>思考过程</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>Thought for {time}</source>
    <translation>思考了 {time}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/answer_view.py"/>
    <source>{line} · {tokens}</source>
    <translation>{line} · {tokens}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Calculated {expression}</source>
    <translation>计算了 {expression}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Hide arguments and result</source>
    <translation>隐藏参数和结果</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Looked at the clock</source>
    <translation>查看了时间</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Read {address}</source>
    <translation>读取了 {address}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Read “{name}”</source>
    <translation>读取了“{name}”</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Searched the collections for “{query}”</source>
    <translation>在文档集合中搜索了“{query}”</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Searched the web for “{query}”</source>
    <translation>在网络上搜索了“{query}”</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Searched your other chats for “{query}”</source>
    <translation>在其他对话中搜索了“{query}”</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>Show arguments and result</source>
    <translation>显示参数和结果</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>cut to what fits</source>
    <translation>已截短</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>interrupted</source>
    <translation>已中断</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>no result</source>
    <translation>没有结果</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>stopped</source>
    <translation>已停止</translation>
  </message>
  <message>
    <location filename="../../app/transcript/call_view.py"/>
    <source>under way…</source>
    <translation>进行中…</translation>
  </message>
  <message>
    <location filename="../../app/transcript/find_bar.py"/>
    <source>Find in this chat</source>
    <translation>在此对话中查找</translation>
  </message>
  <message>
    <location filename="../../app/transcript/find_bar.py"/>
    <source>Search all chats</source>
    <translation>搜索所有对话</translation>
  </message>
  <message>
    <location filename="../../app/transcript/find_bar.py"/>
    <source>{at:,} of {of:,}</source>
    <translation>第 {at:,} 个，共 {of:,} 个</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Branch into a new chat</source>
    <translation>从此处新建分支对话</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Continue</source>
    <translation>继续</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Copy link address</source>
    <translation>复制链接地址</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Copy selection</source>
    <translation>复制所选内容</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Edit answer</source>
    <translation>编辑回答</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Leave out the oldest {n} turns</source>
    <extracomment>n = 1: Leave out the oldest turn</extracomment>
    <translation><numerusform>略去最早的 {n} 轮对话</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>More</source>
    <translation>更多</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Regenerate</source>
    <translation>重新生成</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Restore deleted messages below</source>
    <translation>恢复下方已删除的消息</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Sum up the oldest messages</source>
    <translation>总结最早的消息</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>The oldest turn is left out starting with your next message.</source>
    <translation>从下一条消息起，将略去最早的一轮对话。</translation>
  </message>
  <message numerus="yes">
    <location filename="../../app/transcript/message_actions.py"/>
    <source>The oldest {n} turns are left out starting with your next message.</source>
    <extracomment>n = 1: The oldest turn is left out starting with your next message.</extracomment>
    <translation><numerusform>从下一条消息起，将略去最早的 {n} 轮对话。</numerusform></translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Try again with…</source>
    <translation>换模型重试…</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Use a context of {n_ctx:,} tokens</source>
    <translation>使用 {n_ctx:,} 个词元的上下文</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Use a context of {n_ctx:,} tokens, stored in less memory</source>
    <translation>使用 {n_ctx:,} 个词元的上下文（占用更少内存）</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Use {model}, which has room</source>
    <translation>改用容量足够的 {model}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_actions.py"/>
    <source>Version {at} of {of}</source>
    <translation>第 {at} 个版本，共 {of} 个</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Discard the edit (Esc)</source>
    <translation>放弃编辑 (Esc)</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Edit summary</source>
    <translation>编辑总结</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Save as a new version; the old one is kept (Ctrl+Enter)</source>
    <translation>保存为新版本，旧版本会保留 (Ctrl+Enter)</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Save the summary (Ctrl+Enter)</source>
    <translation>保存总结 (Ctrl+Enter)</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_editor.py"/>
    <source>Send as a new version; the old one is kept (Enter)</source>
    <translation>作为新版本发送，原消息会保留 (Enter)</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_view.py"/>
    <source>Edited by you</source>
    <translation>由你编辑</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_view.py"/>
    <source>The answer reached its length limit.</source>
    <translation>回答已达到长度上限。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_view.py"/>
    <source>The context is full, so the answer ends here.</source>
    <translation>上下文已满，回答到此结束。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_view.py"/>
    <source>The engine stopped here.</source>
    <translation>引擎在此处停止。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/message_view.py"/>
    <source>This answer was interrupted when the window closed.</source>
    <translation>窗口关闭时，此回答被中断。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/model_offers.py"/>
    <source>These models answer better on this computer:</source>
    <translation>以下模型在本机上回答得更好：</translation>
  </message>
  <message>
    <location filename="../../app/transcript/scrolling_column.py"/>
    <source>Go to end</source>
    <translation>到末尾</translation>
  </message>
  <message>
    <location filename="../../app/transcript/source_links.py"/>
    <source>Show it in the file</source>
    <translation>在文件中显示</translation>
  </message>
  <message>
    <location filename="../../app/transcript/source_links.py"/>
    <source>Source: {name}</source>
    <translation>来源：{name}</translation>
  </message>
  <message>
    <location filename="../../app/transcript/summary_box.py"/>
    <source>Summary</source>
    <translation>总结</translation>
  </message>
  <message>
    <location filename="../../app/transcript/summary_box.py"/>
    <source>Summed up. From here on, the model reads this in place of the messages above:</source>
    <translation>已总结。从这里开始，模型读取以下内容来代替上面的消息：</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Answers come from {host}.</source>
    <translation>由 {host} 回答。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Chat with language models that run on this computer. No account needed.</source>
    <translation>与在这台电脑上运行的语言模型对话，无需账号。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Explain how a heat pump works, then quiz me on it</source>
    <translation>讲解热泵的工作原理，然后出几道题考考我</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Explain in simple words why the sky is blue</source>
    <translation>用简单的话解释天空为什么是蓝色的</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Explain what a race condition is, with a short example</source>
    <translation>解释什么是竞态条件，并举一个简短的例子</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Give me five ideas for a rainy Sunday</source>
    <translation>给我五个下雨的周日可以做的事</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Help me plan a week of simple dinners for two</source>
    <translation>帮我安排两个人一周的简单晚餐</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>No models yet. Press {keys} to open a GGUF model file.</source>
    <translation>还没有模型。按 {keys} 打开一个 GGUF 模型文件。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Private. Offline. On this laptop.</source>
    <translation>私密、离线，就在这台电脑上。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Start chatting</source>
    <translation>开始对话</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Turn my notes into a polite e-mail; ask me for the notes</source>
    <translation>把我的要点写成一封得体的邮件，先问我要点是什么</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Welcome to Chickadee</source>
    <translation>欢迎使用 Chickadee</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>What you write stays on this computer, in files that only you can read, unless you connect a server yourself.</source>
    <translation>你写下的内容留在这台电脑上，保存在只有你能读取的文件中，除非你自己连接服务器。</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Write a Python function that finds duplicate lines in a file</source>
    <translation>写一个 Python 函数，找出文件中重复的行</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Write a SQL query for the three latest orders of each customer</source>
    <translation>写一条 SQL，查询每位客户最近的三笔订单</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>Write a friendly note to thank a neighbour</source>
    <translation>给邻居写一张友好的感谢便条</translation>
  </message>
  <message>
    <location filename="../../app/transcript/welcome.py"/>
    <source>{model} is included and ready. Press {keys} to open another GGUF model.</source>
    <translation>已内置 {model}，可立即使用；按 {keys} 可打开其他 GGUF 模型。</translation>
  </message>
</context>
</TS>
