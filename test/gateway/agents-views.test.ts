// The coding agent behind the gateway: for plain clients, for clients with the extension, for both, and for clients of
// gemini-cli's server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { answerText, connect, type AgentClient } from '../../src/client/index.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import {
  textOf,
  type Part,
  type SendResult,
  type StreamEvent,
  type Task,
} from '../../src/protocol/index.ts';
import { answer, brief, partIn, settings, streamed } from '../coder/gemini-talk.ts';
import { makePlace, outline, startCoder, userMessage } from '../coder/support.ts';
import { collect } from '../interop/support.ts';
import { startGateway } from '../support/gateway.ts';

const WRITES: readonly ScriptedResponse[] = [
  [
    { thought: { subject: 'A note', description: 'One file is enough.' } },
    { text: 'I will write it.' },
    { call: { name: 'write_file', args: { path: 'note.txt', content: 'by hand' } } },
  ],
  [{ text: 'It is written.' }],
];

/** Clients of the same agent and key. Nothing has been asked of the agent before their first request. */
async function start(t: TestContext) {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script: WRITES });
  const gateway = await startGateway({ config: { agents: { coder: { url } } } });
  t.after(() => gateway[Symbol.asyncDispose]());
  const headers = { authorization: `Bearer ${gateway.key()}` };
  const address = `${gateway.url}/agents/coder`;
  const at = (extensions: string[] = []) =>
    connect(address, { version: '0.3', headers, extensions });
  return {
    url: address,
    headers,
    at,
    place,
    written: () => readFileSync(join(place.workspace, 'note.txt'), 'utf8'),
  };
}

async function eventsOf(
  client: AgentClient,
  message: string | Part[],
  options: object = {},
): Promise<StreamEvent[]> {
  return (await collect(client.stream(message, options))).map(({ event }) => event);
}

function taskIn(answer: SendResult): Task {
  assert.ok(answer.kind === 'task');
  return answer;
}

/** The answer to the call that waits in these events. */
function allow(events: readonly StreamEvent[]): Part[] {
  const [, tool_call_id] = /"tool_call_id":"([^"]+)"/.exec(JSON.stringify(events)) ?? [];
  return [{ kind: 'data', data: { tool_call_id, selected_option_id: 'proceed_once' } }];
}

const FIRST = [
  'task submitted',
  'STATE_CHANGE working',
  'THOUGHT',
  'TEXT_CONTENT',
  'TOOL_CALL_UPDATE PENDING',
  'STATE_CHANGE input-required final',
];
const REST = [
  'TOOL_CALL_UPDATE EXECUTING',
  'TOOL_CALL_UPDATE SUCCEEDED',
  'TEXT_CONTENT',
  'STATE_CHANGE completed final',
];

test('a plain client is asked in words, and gets the text as one artifact', async (t) => {
  const { at, written } = await start(t);
  const client = await at();
  const asked = taskIn(await client.send('write it'));
  assert.equal(asked.status.state, 'input-required');
  assert.match(textOf(asked.status.message?.parts ?? []), /note\.txt[^]*- Allow once\n/);
  const done = taskIn(await client.send('Allow once', { taskId: asked.id }));
  assert.equal(answerText(done), 'I will write it.\n\nIt is written.');
  assert.doesNotMatch(JSON.stringify(done), /tool_call_id|developer-profile/);
  assert.equal(written(), 'by hand');
});

test('a client with the extension finds it on the card, and gets its events from the first request on', async (t) => {
  const { at, written } = await start(t);
  const client = await at([EXTENSION_URI]);
  assert.deepEqual(
    client.card.capabilities.extensions?.map(({ uri }) => uri),
    [EXTENSION_URI],
  );
  const first = await eventsOf(client, 'write it');
  assert.deepEqual(first.map(outline), FIRST);
  const [task] = first;
  assert.ok(task?.kind === 'task');
  const second = await eventsOf(client, allow(first), { taskId: task.id });
  assert.deepEqual(second.map(outline).slice(-REST.length), REST);
  assert.equal(written(), 'by hand');
});

test('a task that a client with the extension began stays in its form when a plain client answers', async (t) => {
  const { at, written } = await start(t);
  const owner = await at([EXTENSION_URI]);
  const first = await eventsOf(owner, 'write it');
  const [task] = first;
  assert.ok(task?.kind === 'task');
  const plain = await at();
  const second = await eventsOf(plain, 'Allow once', { taskId: task.id });
  assert.deepEqual(second.map(outline).slice(-REST.length), REST);
  assert.equal(written(), 'by hand');
  const whole = await owner.get(task.id);
  assert.equal(whole.artifacts, undefined, 'the text is told once');
  // Both clients see the same task.
  assert.deepEqual(await plain.get(task.id), whole);
});

test('a task that a plain client began stays plain when a client with the extension answers', async (t) => {
  const { at, written } = await start(t);
  const asked = taskIn(await (await at()).send('write it'));
  const other = await at([EXTENSION_URI]);
  const done = taskIn(await other.send('Allow once', { taskId: asked.id }));
  assert.equal(done.status.state, 'completed');
  assert.equal(answerText(done), 'I will write it.\n\nIt is written.');
  assert.equal(written(), 'by hand');
});

test("a client of gemini-cli's server approves a call, in its own dialect", async (t) => {
  const { url, headers, place, written } = await start(t);
  const metadata = settings(place.workspace);
  const first = await streamed(url, { message: userMessage('write it', { metadata }) }, headers);
  assert.deepEqual(first.slice(1).map(brief), [
    'state-change working',
    'thought working',
    'text-content working',
    'tool-call-confirmation awaiting_approval',
    'state-change input-required final',
  ]);
  const { callId } = partIn(first, 'tool-call-confirmation')!.data!.request!;
  const allowed = answer(first.at(-1)!, { callId, outcome: 'proceed_once' });
  const second = await streamed(url, allowed, headers);
  assert.deepEqual(second.map(brief).slice(-4), [
    'tool-call-update executing',
    'tool-call-update success',
    'text-content working',
    'state-change input-required final',
  ]);
  assert.equal(written(), 'by hand');
});
