/**
 * ADK's client (`RemoteA2AAgent`) against our agents, with the bytes that it sends: it answers a question with the
 * context's id alone. The real program is in test/clients.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { llmAgent } from '../../src/agent/index.ts';
import { textOf, type StreamEvent, type Task } from '../../src/protocol/index.ts';
import { bridge, modelOf, toolOf } from '../bridge/support.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';

/** Says a text as ADK does, and returns the task's id, its context, and how and with which words the stream ended. */
async function says(url: string, text: string, contextId?: string) {
  const message = {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text, metadata: {} }],
    metadata: { adk_app_name: 'app', adk_user_id: 'ann', adk_session_id: 'session' },
    ...(contextId !== undefined && { contextId }),
  };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    method: 'message/stream',
    params: { message },
    id: 1,
  });
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const response = await fetch(url, { method: 'POST', headers, body });
  const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => (JSON.parse(data!) as { result: StreamEvent }).result,
  );
  const [task] = events as [Task];
  assert.equal(task.kind, 'task');
  const last = events.at(-1);
  assert.ok(last?.kind === 'status-update');
  const { state, message: said } = last.status;
  return { id: task.id, contextId: task.contextId, state, text: textOf(said?.parts ?? []) };
}

test('an approval of the coding agent is given with the name of an option', async (t) => {
  const place = makePlace(t);
  const script = [writes('note.txt', 'by hand'), [{ text: 'It is written.' }]];
  const { url } = await startCoder(t, place, { script });
  const asked = await says(url, 'write it');
  assert.equal(asked.state, 'input-required');
  const done = await says(url, 'Allow once', asked.contextId);
  assert.deepEqual([done.id, done.state], [asked.id, 'completed']);
  assert.equal(readFileSync(join(place.workspace, 'note.txt'), 'utf8'), 'by hand');
});

test('a question of an agent behind the bridge is answered', async (t) => {
  const where = toolOf('book', {
    run: (_args, ctx) => ctx.answer?.value ?? ctx.ask({ text: 'Where to?' }),
  });
  const model = modelOf((request) =>
    request.messages.length === 1
      ? [{ kind: 'function-call', id: 'call', name: 'book', args: {} }]
      : [{ kind: 'text', text: 'Booked.' }],
  );
  const agent = llmAgent({ name: 'travel', description: 'Books', model, tools: [where] });
  const { url } = await bridge(t, agent);
  const asked = await says(url, 'book it');
  assert.deepEqual([asked.state, asked.text], ['input-required', 'Where to?']);
  const done = await says(url, 'to the sea', asked.contextId);
  assert.deepEqual([done.id, done.state], [asked.id, 'completed']);
});
