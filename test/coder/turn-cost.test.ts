/** What a turn costs the session store. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { SessionStore } from '../../src/agent/session.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import { callIn, confirmation, makePlace, startCoder, stream, userMessage } from './support.ts';

/** A store that counts how often a session is read. */
function counting(): { readonly sessions: SessionStore; readonly reads: () => number } {
  const store = memorySessions();
  let reads = 0;
  const sessions: SessionStore = {
    open(key, state) {
      reads++;
      return store.open(key, state);
    },
    get(key) {
      reads++;
      return store.get(key);
    },
    append: (key, events) => store.append(key, events),
    list: (owner, page) => store.list(owner, page),
    delete: (key) => store.delete(key),
    close: () => store.close(),
  };
  return { sessions, reads: () => reads };
}

async function asked(t: TestContext) {
  const place = makePlace(t);
  const { sessions, reads } = counting();
  const write = { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } };
  const script = [[{ call: write }], [{ text: 'Done.' }]];
  const { url } = await startCoder(t, place, { sessions, script });
  const events = await stream(url, userMessage('write a.txt'));
  const [task] = events;
  assert.ok(task?.kind === 'task');
  const call = events.map(callIn).find((each) => each?.confirmation_request !== undefined);
  assert.ok(call);
  const before = reads();
  const written = () => readFileSync(join(place.workspace, 'a.txt'), 'utf8');
  return { url, id: task.id, call, reads: () => reads() - before, written };
}

test('a turn that is answered by a confirmation reads its session once', async (t) => {
  const { url, id, call, reads, written } = await asked(t);
  const data = { tool_call_id: call.tool_call_id, selected_option_id: 'proceed_once' };
  await stream(url, confirmation(id, data));
  assert.equal(written(), 'hello\n');
  assert.equal(reads(), 1);
});

test('a turn that is answered in words reads its session once', async (t) => {
  const { url, id, reads, written } = await asked(t);
  await stream(url, { ...userMessage('yes'), taskId: id });
  assert.equal(written(), 'hello\n');
  assert.equal(reads(), 1);
});
