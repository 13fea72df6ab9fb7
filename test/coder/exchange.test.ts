/**
 * The exchange in docs/development-tool/exchange.json, played against a real `parley serve`: the client's side is sent
 * as it stands there, and the server has to say what stands there. The model is script.json, beside it. Ids and times differ each time, so they are names in
 * angle brackets. PARLEY_RECORD=1 writes down what the server says now.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { EXTENSION_URI, eventIn } from '../../src/protocol/development-tool/index.ts';
import type { StreamEvent } from '../../src/protocol/index.ts';
import { folder, serving } from '../cli/support.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../docs/development-tool');
const FILE = path.join(FOLDER, 'exchange.json');

interface Step {
  readonly about: string;
  /** The body of a request of JSON-RPC. */
  readonly send: object;
  /** Its response, or the results in its stream. */
  readonly receive: readonly unknown[];
}

/** What an id is called, by the field in which it is seen first. */
const NAMES: Readonly<Record<string, string>> = {
  id: 'task',
  taskId: 'task',
  contextId: 'context',
  messageId: 'message',
  tool_call_id: 'call',
  correlationId: 'request',
};
const UUID =
  /^(?:call_|response-)?[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\.\d+\.\d+(?:\.end)?)?$/;

/** Names for ids and back. */
function createNames(workspace: string) {
  const names = new Map<string, string>([[workspace, '<workspace>']]);
  const counts = new Map<string, number>();

  function nameOf(key: string, id: string): string {
    const known = names.get(id);
    if (known !== undefined) return known;
    const kind = NAMES[key] ?? 'id';
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(id, `<${kind}-${count}>`);
    return `<${kind}-${count}>`;
  }

  return {
    named(value: unknown): unknown {
      const text = JSON.stringify(value, (key, each: unknown) => {
        if (key === 'timestamp') return '<time>';
        // The instruction names the workspace, so its length counts.
        if (key === 'contextTokens') return 400;
        if (typeof each !== 'string') return each;
        return UUID.test(each) ? nameOf(key, each) : each.replaceAll(workspace, '<workspace>');
      });
      return JSON.parse(text) as unknown;
    },
    filled(value: object): string {
      let text = JSON.stringify(value);
      for (const [id, name] of names) text = text.replaceAll(name, id);
      return text;
    },
  };
}

/** Text comes in pieces as time has it; here it is in one. */
function joined(events: readonly StreamEvent[]): StreamEvent[] {
  const out: StreamEvent[] = [];
  for (const event of events) {
    const last = out.at(-1);
    const [piece, before] = [textPart(event), last && textPart(last)];
    if (piece && before) before.text += piece.text;
    else out.push(event);
  }
  return out;
}

function textPart(event: StreamEvent): { text: string } | undefined {
  if (event.kind !== 'status-update') return undefined;
  const part = event.status.message?.parts[0];
  const isText = eventIn(event.metadata)?.kind === 'TEXT_CONTENT' && part?.kind === 'text';
  return isText ? part : undefined;
}

async function post(url: string, body: string): Promise<unknown[]> {
  const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION_URI };
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    return [JSON.parse(text) as unknown];
  }
  const replies = [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data) as { result?: StreamEvent },
  );
  // A refused stream is one event with the error.
  const refused = replies.filter(({ result }) => result === undefined);
  return refused.length > 0 ? refused : joined(replies.flatMap(({ result }) => result ?? []));
}

test('the recorded exchange is what the server says', async () => {
  const workspace = path.join(realpathSync(folder), 'exchange');
  mkdirSync(workspace);
  const model = ['--model', 'scripted:script.json'];
  const server = await serving(['--workspace', workspace, ...model], { cwd: FOLDER });
  const steps = JSON.parse(readFileSync(FILE, 'utf8')) as Step[];
  const names = createNames(workspace);
  const played: Step[] = [];
  for (const { about, send } of steps) {
    const receive = (await post(server.url, names.filled(send))).map((each) => names.named(each));
    played.push({ about, send, receive });
  }
  await server.stop();
  if (process.env['PARLEY_RECORD'] === '1') {
    writeFileSync(FILE, `${JSON.stringify(played, null, 2)}\n`);
  }
  assert.deepEqual(played, steps);
});
