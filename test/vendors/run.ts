/**
 * `npm run test:vendors`: asks the real providers whose key is in the environment, and the model servers of this
 * machine. Each gets four small requests: a streamed answer, a tool call, an image, a web search. It costs about a cent
 * for each provider. Without keys and servers, it says so and ends with 0.
 *
 *   GEMINI_API_KEY=… npm run test:vendors
 *   npm run test:vendors -- openai:gpt-5-mini ollama:qwen3
 */
import {
  usableModels,
  reachableServers,
  offered,
  resolveModel,
} from '../../src/agent/internal/index.ts';
import { allServers } from '../../src/agent/providers/index.ts';
import type { Model, ModelChunk, ModelRequest } from '../../src/agent/model.ts';

const TIMEOUT_MS = 60_000;
const FIND_MS = 2000;
/** A red square of 32 × 32 pixels. */
const RED =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC';

interface Result {
  readonly works: boolean | undefined;
  readonly about: string;
}
type Check = (model: Model) => Promise<Result>;

async function ask(model: Model, request: ModelRequest): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  for await (const chunk of model.generate(request, signal)) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks: readonly ModelChunk[]): string =>
  chunks.map((chunk) => (chunk.kind === 'text' ? chunk.text : '')).join('');
const prompt = (text: string): ModelRequest => ({
  messages: [{ role: 'user', parts: [{ kind: 'text', text }] }],
});

const CHECKS: Readonly<Record<string, Check>> = {
  async stream(model) {
    const chunks = await ask(
      model,
      prompt('Count from 1 to 20, one number per line, nothing else.'),
    );
    const pieces = chunks.filter(({ kind }) => kind === 'text').length;
    const last = chunks.at(-1);
    const counted = last?.kind === 'finish' && last.usage !== undefined;
    const works = /1\n.*20/s.test(textOf(chunks)) && counted;
    return { works, about: `${pieces} pieces${counted ? '' : ', no token count'}` };
  },
  async tool(model) {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    };
    const tools = [{ name: 'get_weather', description: 'The weather in a city.', parameters }];
    const request = { ...prompt('What is the weather in Paris? Use the tool.'), tools };
    const chunks = await ask(model, request);
    const call = chunks.find((chunk) => chunk.kind === 'function-call');
    if (call === undefined) return { works: false, about: 'did not call the tool' };
    const parts = chunks.filter((chunk) => chunk.kind !== 'finish');
    const response = { kind: 'function-response' as const, id: call.id, name: call.name };
    const answer = await ask(model, {
      tools,
      messages: [
        ...request.messages,
        { role: 'model', parts },
        { role: 'user', parts: [{ ...response, response: 'It is 17 degrees and raining.' }] },
      ],
    });
    return { works: /17/.test(textOf(answer)), about: JSON.stringify(call.args) };
  },
  async image(model) {
    const { messages } = prompt('Which colour is this image? Answer with one word.');
    const image = { kind: 'blob' as const, mediaType: 'image/png', data: RED };
    const [{ parts }] = messages as [(typeof messages)[number]];
    let refused = false;
    const seeing = resolveModel(model.name, { onFilesRefused: () => (refused = true) });
    const chunks = await ask(seeing, { messages: [{ role: 'user', parts: [image, ...parts] }] });
    if (refused) return { works: undefined, about: 'takes no images' };
    return { works: /red/i.test(textOf(chunks)), about: textOf(chunks).trim().slice(0, 30) };
  },
  async search(model) {
    if (model.searchesWeb !== true) return { works: undefined, about: 'has no web search' };
    const question = 'Search the web: what is the newest LTS version of Node.js?';
    const last = (await ask(model, { ...prompt(question), webSearch: true })).at(-1);
    const count = last?.kind === 'finish' ? (last.sources ?? []).length : 0;
    return { works: count > 0, about: `${count} pages` };
  },
};

async function models(): Promise<string[]> {
  const named = process.argv.slice(2);
  if (named.length > 0) return named;
  const vendors = usableModels().filter((name) => name !== 'offline');
  const local = allServers(process.env).filter((server) => server.local !== undefined);
  const found = await reachableServers(local, { timeoutMs: FIND_MS });
  return [
    ...vendors,
    ...found.flatMap(({ prefix, models: served, problem }) => {
      const [first] = problem === undefined ? offered(served) : [];
      return first ? [`${prefix}:${first.id}`] : [];
    }),
  ];
}

async function tried(check: Check, name: string): Promise<Result> {
  try {
    return await check(resolveModel(name, { checkKey: true }));
  } catch (error) {
    return { works: false, about: error instanceof Error ? error.message : String(error) };
  }
}

const names = await models();
if (names.length === 0) {
  console.log(
    'No provider to test: set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama, LM Studio or vLLM.',
  );
}
let failures = 0;
await Promise.all(
  names.map(async (name) => {
    const lines: string[] = [];
    for (const [what, check] of Object.entries(CHECKS)) {
      const begun = performance.now();
      const { works, about } = await tried(check, name);
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      if (works === false) failures++;
      const mark = works === undefined ? '–' : works ? '✓' : '✗';
      lines.push(`  ${mark} ${what.padEnd(7)} ${seconds.padStart(5)} s  ${about}`);
    }
    console.log(`${name}\n${lines.join('\n')}`);
  }),
);
process.exit(failures === 0 ? 0 : 1);
