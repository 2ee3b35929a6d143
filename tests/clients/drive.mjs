// Clients in JavaScript against a running local API: `node drive.mjs BASE_URL KEY NAME`, in a folder where package.json
// is installed. Each function drives one client and throws if an answer is not what the client's users expect.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [root, key, name] = process.argv.slice(2);
const base = `${root}/v1`;
const require = createRequire(join(process.cwd(), "package.json"));
const load = (module) => import(pathToFileURL(require.resolve(module)));
const question = [{ role: "user", content: "Name a bird." }];
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

const drivers = {
  async npm_openai() {
    const { default: OpenAI } = await load("openai");
    const client = new OpenAI({ baseURL: base, apiKey: key });
    const options = { model: "m", messages: question, max_tokens: 12, temperature: 0 };
    const whole = await client.chat.completions.create(options);
    let text = "";
    let usage = null;
    const stream = { ...options, stream: true, stream_options: { include_usage: true } };
    for await (const chunk of await client.chat.completions.create(stream)) {
      text += chunk.choices[0]?.delta?.content ?? "";
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, whole.choices[0].message.content);
    assert.equal(usage.total_tokens, whole.usage.total_tokens);
    const tools = [{ type: "function", function: { name: "weather", parameters: city } }];
    const called = await client.chat.completions
      .stream({ ...options, tools, tool_choice: "required", max_tokens: 80 })
      .finalChatCompletion();
    const call = called.choices[0].message.tool_calls[0].function;
    assert.equal(call.name, "weather");
    assert.equal(typeof JSON.parse(call.arguments).city, "string");
    const response = await client.responses.create({ model: "m", input: "Name a bird.", max_output_tokens: 12 });
    assert.ok(response.output_text);
    const vectors = await client.embeddings.create({ model: "m", input: ["a bird", "a car"] });
    assert.equal(vectors.data.length, 2);
  },

  async npm_ai_sdk() {
    const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
    const { generateText, jsonSchema, streamText, tool } = await load("ai");
    const provider = createOpenAICompatible({
      name: "chickadee", baseURL: base, apiKey: key, includeUsage: true, supportsStructuredOutputs: true,
    });
    const options = { model: provider("m"), messages: question, maxOutputTokens: 12, temperature: 0 };
    const whole = await generateText(options);
    assert.ok(whole.text);
    const streamed = streamText(options);
    let text = "";
    for await (const part of streamed.textStream) text += part;
    assert.equal(text, whole.text);
    assert.equal((await streamed.usage).outputTokens, whole.usage.outputTokens);
    const weather = tool({ description: "Weather of a city.", inputSchema: jsonSchema(city) });
    const asked = { ...options, tools: { weather }, toolChoice: "required", maxOutputTokens: 80 };
    const called = streamText({ ...asked, messages: [{ role: "user", content: "What is the weather in Paris?" }] });
    const calls = await called.toolCalls;
    assert.equal(calls[0].toolName, "weather");
    assert.equal(typeof calls[0].input.city, "string");
  },
};

await drivers[name]();
