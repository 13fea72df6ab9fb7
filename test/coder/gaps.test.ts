/**
 * The process can die between what the session has stored and what the task's log has. Here the end of the log is taken
 * away, as if it had never been written: the turn goes on, and the log gets what it lacks.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { connect } from '../../src/client/index.ts';
import { textOf, type StreamEvent } from '../../src/protocol/index.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { calls, done, shell } from './checked-talk.ts';
import { turnOf } from './talk.ts';
import {
  confirmation,
  makePlace,
  outline,
  startCoder,
  stream,
  userMessage,
  type Place,
} from './support.ts';
import { Transcript } from './transcript.ts';

/** Takes away what stands in the log of the only task behind the last entry that says this. */
function forgetBehind({ home }: Place, said: string): void {
  using database = new DatabaseSync(join(home, 'tasks.db'));
  const rows = database.prepare('SELECT seq, json FROM events ORDER BY seq').all();
  const last = rows.findLast(({ json }) => String(json).includes(said));
  assert.ok(last && rows.at(-1) !== last, said);
  database.prepare('DELETE FROM events WHERE seq > ?').run(last['seq']!);
  database.prepare("UPDATE tasks SET state = 'working', status_seq = ?").run(last['seq']!);
  database.exec(
    "UPDATE counters SET n = 0; INSERT OR REPLACE INTO counters SELECT id, 'working', 1 FROM scopes",
  );
}

/** The task's whole log, once it is settled, held against the specification. */
async function logOf(t: TestContext, url: string, taskId: string) {
  const agent = await connect(url, { version: '0.3' });
  t.after(() => agent.close());
  const seen = new Transcript();
  const events: StreamEvent[] = [];
  for await (const { event } of agent.resubscribe(taskId, {
    after: 0,
    extensions: [EXTENSION_URI],
  })) {
    events.push(event);
    if (event.kind === 'status-update') seen.status(event);
  }
  return { events, seen };
}

/** A first process, in which all of this is said and allowed. */
async function beforeTheEnd(
  t: TestContext,
  script: readonly ScriptedResponse[],
  { allowed, said = [] }: { allowed: number; said?: readonly string[] },
) {
  const place = makePlace(t);
  const server = await startCoder(t, place, { script });
  const { url } = server;
  const seen = new Transcript();
  const [task] = seen.take(await stream(url, userMessage('begin')));
  assert.ok(task?.kind === 'task');
  for (let at = 0; at < allowed; at++) {
    const [call] = seen.waiting;
    const data = { tool_call_id: call?.tool_call_id, selected_option_id: 'proceed_once' };
    seen.take(await stream(url, confirmation(task.id, data)));
  }
  for (const text of said) seen.take(await stream(url, userMessage(text, { taskId: task.id })));
  await server.stop();
  return { place, taskId: task.id, at: (name: string) => join(place.workspace, name) };
}

test('a call whose end was not told is told, and is not made again', async (t) => {
  const script = [shell('echo ran >> ran.txt'), done];
  const { place, taskId, at } = await beforeTheEnd(t, script, { allowed: 1 });
  forgetBehind(place, '"EXECUTING"');
  const { url } = await startCoder(t, place);
  const { events, seen } = await logOf(t, url, taskId);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING SUCCEEDED');
  assert.deepEqual(seen.ends, ['completed']);
  assert.equal(readFileSync(at('ran.txt'), 'utf8'), 'ran\n');
  assert.equal(turnOf(events).text, 'Done.', 'the answer is not lost either');
});

test('a question that was not told is told, and waits', async (t) => {
  const script = [calls('list_directory', {}), shell('touch a')];
  const { place, taskId, at } = await beforeTheEnd(t, script, { allowed: 0 });
  forgetBehind(place, '"SUCCEEDED"');
  const { url } = await startCoder(t, place, { script: [done] });
  const { events, seen } = await logOf(t, url, taskId);
  assert.equal(outline(events.at(-1)!), 'STATE_CHANGE input-required final');
  const [call] = seen.waiting;
  const data = { tool_call_id: call?.tool_call_id, selected_option_id: 'proceed_once' };
  const last = seen.take(await stream(url, confirmation(taskId, data)));
  assert.equal(outline(last.at(-1)!), 'STATE_CHANGE completed final');
  assert.ok(existsSync(at('a')));
});

test("an approval of a helper's call is none of its next one", async (t) => {
  const script = [calls('task', { prompt: 'Two.' }), shell('touch one'), shell('touch two')];
  const { place, taskId, at } = await beforeTheEnd(t, script, { allowed: 1 });
  forgetBehind(place, '"TOOL_CALL_CONFIRMATION"');
  const { url } = await startCoder(t, place, { script: [[{ text: 'Two files.' }], done] });
  const { events, seen } = await logOf(t, url, taskId);
  assert.equal(outline(events.at(-1)!), 'STATE_CHANGE input-required final');
  const [call] = seen.waiting;
  assert.equal(call?.confirmation_request?.execute_details?.command, 'touch two');
  assert.ok(existsSync(at('one')) && !existsSync(at('two')));
  const data = { tool_call_id: call.tool_call_id, selected_option_id: 'proceed_once' };
  const last = seen.take(await stream(url, confirmation(taskId, data)));
  assert.equal(outline(last.at(-1)!), 'STATE_CHANGE completed final');
  assert.ok(existsSync(at('two')));
});

test('a confirmation that the run had not heard counts', async (t) => {
  const script = [shell('touch a'), done];
  const { place, taskId, at } = await beforeTheEnd(t, script, { allowed: 1 });
  forgetBehind(place, '"TOOL_CALL_CONFIRMATION"');
  using sessions = new DatabaseSync(join(place.home, 'sessions.db'));
  const rows = sessions.prepare('SELECT id, json FROM events ORDER BY id').all();
  const asked = rows.find(({ json }) => String(json).includes('"questions"'));
  sessions.prepare('DELETE FROM events WHERE id > ?').run(asked!['id']!);
  const { url } = await startCoder(t, place, { script: [done] });
  const { seen } = await logOf(t, url, taskId);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING SUCCEEDED');
  assert.deepEqual(seen.ends, ['completed']);
  assert.ok(existsSync(at('a')));
});

for (const said of ['Blue', '/tmp', '/init']) {
  test(`an answer "${said}" that the run had not heard counts, and a command before it does not`, async (t) => {
    const script = [calls('ask_user', { question: 'Which?' }), done];
    const { place, taskId } = await beforeTheEnd(t, script, { allowed: 0, said: ['/stats', said] });
    forgetBehind(place, `"kind":"text","text":"${said}"`);
    using sessions = new DatabaseSync(join(place.home, 'sessions.db'));
    const rows = sessions.prepare('SELECT id, json FROM events ORDER BY id').all();
    const asked = rows.find(({ json }) => String(json).includes('"questions"'));
    sessions.prepare('DELETE FROM events WHERE id > ?').run(asked!['id']!);
    const { url } = await startCoder(t, place, { script: [done] });
    const { seen } = await logOf(t, url, taskId);
    assert.deepEqual(seen.ends.at(-1), 'completed');
    const [call] = seen.calls.values();
    assert.equal(call?.output?.text, said);
  });
}

test('a second turn of which the log has only the message goes on as the second', async (t) => {
  const script = [done, [{ text: 'Again.' }]];
  const { place, taskId } = await beforeTheEnd(t, script, { allowed: 0, said: ['go on'] });
  forgetBehind(place, 'go on');
  const { url } = await startCoder(t, place);
  const { events } = await logOf(t, url, taskId);
  assert.equal(turnOf(events).text, 'Again.');
});

/** Says something before and after a call. The last text is sent in two pieces, and its end is sent separately. */
const SAYS: readonly ScriptedResponse[] = [
  [{ text: 'I begin.' }, ...shell('touch a')],
  [{ text: 'All ' }, { delayMs: 150 }, { text: 'done.' }, { delayMs: 150 }],
];

for (const said of [['Allow once'], ['/stats', 'Allow once']]) {
  test(`wherever the log ends after "${said.join('", "')}", no text is lost or told twice`, async (t) => {
    const { place, taskId } = await beforeTheEnd(t, SAYS, { allowed: 0, said });
    const file = join(place.home, 'tasks.db');
    const textNow = async () => {
      const server = await startCoder(t, place);
      const agent = await connect(server.url);
      for await (const _ of agent.resubscribe(taskId, { after: 0 }));
      const { artifacts = [] } = await agent.get(taskId);
      agent.close();
      await server.stop();
      return artifacts.map(({ parts }) => textOf(parts));
    };
    const whole = await textNow();
    assert.match(whole.join('|'), /^I begin\.\n\n[^|]*\bAll done\.$/);
    const full = readFileSync(file);
    const chunks = ['"Allow once"', '"SUCCEEDED"', '"All"', '" done"'];
    for (const last of chunks) {
      writeFileSync(file, full);
      forgetBehind(place, last);
      assert.deepEqual(await textNow(), whole, `the log ends with ${last}`);
    }
  });
}
