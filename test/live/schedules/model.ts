/**
 * A model server on loopback in OpenAI's format. It answers with calls of every kind, remembers each request, and knows
 * by its number which call should have had which effect.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { JsonObject } from '../../../src/base/index.ts';
import type { Chance } from './chance.ts';

export const MODEL = 'openai-compatible:llama';
/** The word in the prompt that ends a schedule. Its answer is text alone. */
export const LAST_PROMPT = 'the last prompt';

const KINDS = [
  'read',
  'missing',
  'write',
  'edit',
  'shell',
  'failing',
  'mcp',
  'ask',
  'task',
  'unknown',
  'invalid',
] as const;
const HELPER_KINDS = ['read', 'write', 'shell', 'edit'] as const;
export type Kind = (typeof KINDS)[number];

/** A call that the model made. */
export interface MadeCall {
  readonly number: number;
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  readonly args: JsonObject;
  /** The number of the response, and whether it was to a helper. */
  readonly response: number;
  readonly helper: boolean;
  /** The number of the `task` call whose helper made this call. */
  readonly parent: number | undefined;
}

const Message = z.looseObject({
  role: z.string(),
  content: z
    .union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))])
    .nullish()
    .transform((content) =>
      typeof content === 'string'
        ? content
        : (content ?? []).map(({ text = '' }) => text).join('\n'),
    ),
  tool_calls: z.array(z.looseObject({ id: z.string() })).optional(),
  tool_call_id: z.string().optional(),
});
export type ModelMessage = z.infer<typeof Message>;
const Body = z.looseObject({ messages: z.array(Message) });

export interface ModelRequest {
  /** The number of the response that it got. */
  readonly response: number;
  readonly helper: boolean;
  readonly messages: readonly ModelMessage[];
}

export interface ModelServer {
  readonly url: string;
  readonly calls: readonly MadeCall[];
  /** Oldest first. */
  readonly requests: readonly ModelRequest[];
  /** The number of the latest response. */
  readonly responses: number;
}

/** Serves a model on loopback, and returns its base URL. */
export async function serveModel(
  t: TestContext,
  answer: (messages: readonly ModelMessage[], out: ServerResponse) => Promise<void>,
): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    async function handle(): Promise<void> {
      const { messages } = Body.parse(JSON.parse(await textOf(incoming)));
      await answer(messages, outgoing);
    }
    handle().catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** One chunk of a streamed answer. */
export function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ choices })}\n\n`;
}

export async function startModel(t: TestContext, chance: Chance): Promise<ModelServer> {
  const calls: MadeCall[] = [];
  const requests: ModelRequest[] = [];
  let responses = 0;

  function madeCall(response: number, parent: number | undefined): MadeCall {
    const helper = parent !== undefined;
    const number = calls.length + 1;
    const kind: Kind = chance.pick<Kind>(helper ? HELPER_KINDS : KINDS, 'kind', number);
    const id = `call_${number}`;
    const made = { number, id, kind, response, helper, parent, ...callOf(kind, number) };
    calls.push(made);
    return made;
  }

  async function answer(messages: readonly ModelMessage[], out: ServerResponse): Promise<void> {
    const number = ++responses;
    const { parent, last, steps } = placeIn(messages, chance);
    const helper = parent !== undefined;
    requests.push({ response: number, helper, messages });
    const pause = () => wait(chance.below(25, 'pause', number));
    const write = (...said: Parameters<typeof chunk>) => void out.write(chunk(...said));
    if (!last && !helper && chance.at('error', number) < 0.04) {
      out.writeHead(400, { 'content-type': 'application/json' });
      out.end(JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }));
      return;
    }
    out.writeHead(200, { 'content-type': 'text/event-stream' });
    await pause();
    const talks = steps <= 0 || chance.at('talks', number) < 0.5;
    if (talks) {
      for (const half of [1, 2]) {
        write({ role: 'assistant', content: `said-${number}-${half} ` });
        await pause();
      }
    }
    const count = steps <= 0 ? 0 : 1 + chance.below(helper ? 2 : 4, 'calls', number);
    for (let index = 0; index < count; index++) {
      const { id, name, args } = madeCall(number, parent);
      const called = { name, arguments: JSON.stringify(args) };
      write({ tool_calls: [{ index, id, type: 'function', function: called }] });
    }
    write({}, count > 0 ? 'tool_calls' : 'stop');
    out.end('data: [DONE]\n\n');
  }

  return {
    url: await serveModel(t, answer),
    calls,
    requests,
    get responses() {
      return responses;
    },
  };
}

/** The effects can be told apart by their number. note.sh appends what is there when it runs to the journal. */
function callOf(kind: Kind, number: number): Pick<MadeCall, 'name' | 'args'> {
  switch (kind) {
    case 'read':
      return { name: 'read_file', args: { path: 'note.sh' } };
    case 'missing':
      return { name: 'read_file', args: { path: `none-${number}.txt` } };
    case 'write':
      return {
        name: 'write_file',
        args: { path: `w-${number}.txt`, content: `content ${number}\n` },
      };
    case 'edit':
      return {
        name: 'edit',
        args: { path: 'edits.txt', old: 'END', new: `${number}\nEND` },
      };
    case 'shell': {
      const command = `sh note.sh ${number}; sleep 0.05; sh note.sh ${number}.end`;
      return { name: 'run_shell_command', args: { command } };
    }
    case 'failing':
      return {
        name: 'run_shell_command',
        args: { command: `sh note.sh ${number}; sh note.sh ${number}.end; exit 3` },
      };
    case 'mcp':
      return { name: 'tools__note', args: { number } };
    case 'ask':
      return {
        name: 'ask_user',
        args:
          number % 2 === 0
            ? { question: `Question ${number}?`, options: ['red', 'blue'] }
            : { question: `Question ${number}?` },
      };
    case 'task':
      return { name: 'task', args: { prompt: `helper job ${number}`, name: `job-${number}` } };
    case 'unknown':
      return { name: 'no_such_tool', args: { number } };
    default:
      return { name: 'write_file', args: { path: `w-${number}.txt` } };
  }
}

/** The number of the call whose helper has this conversation. */
function parentOf(messages: readonly ModelMessage[]): number | undefined {
  const first = messages.find(({ role }) => role === 'user')?.content ?? '';
  const [, number] = /^helper job (\d+)/.exec(first) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** Where the conversation is: how many more responses with calls the turn gets. */
function placeIn(messages: readonly ModelMessage[], chance: Chance) {
  const parent = parentOf(messages);
  const asked = messages.findLastIndex(
    ({ role, content }) => role === 'user' && /^prompt |the last prompt|helper job/m.test(content),
  );
  const prompt = messages[asked]?.content ?? '';
  const last = prompt.includes(LAST_PROMPT);
  const done = messages.slice(asked).filter(({ tool_calls = [] }) => tool_calls.length > 0).length;
  const planned = parent !== undefined ? 1 : 1 + chance.below(2, 'steps', prompt);
  return { parent, last, steps: last ? 0 : planned - done };
}
