// The model, the approval mode and the number of tokens that a client sees are those in use: on the terminal's screen, on
// `/ws`, over ACP, in every event of the log, and in the flat API.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { eventIn, EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { StreamEvent } from '../../src/protocol/index.ts';
import { editorIn, startLive } from '../acp/support.ts';
import { done, talk } from '../coder/checked-talk.ts';
import { get } from '../coder/flat-support.ts';
import { makePlace } from '../coder/support.ts';
import { begin, writes } from '../coder/talk.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { data, fakeVendor } from '../support/vendors/server.ts';
import { CTRL_C, ENTER, READY, startProgram, startShared } from './program.ts';
import { RawClient } from './raw-client.ts';
import { serveSession, Watcher } from './support.ts';

const says = (text: string): ScriptedResponse => [{ text }];
const LONG = says('word '.repeat(2000));

/** A call of the helper, as servers compatible with OpenAI stream it. */
const TASK = [
  {
    delta: {
      role: 'assistant',
      tool_calls: [
        {
          index: 0,
          id: 'call_1',
          type: 'function',
          function: { name: 'task', arguments: '{"prompt":"look"}' },
        },
      ],
    },
    finish_reason: null,
  },
  { delta: {}, finish_reason: 'tool_calls' },
].map((choice) =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] }),
);

/** The task's log, in the shape of 0.3. */
async function logOf(url: string, taskId: string): Promise<StreamEvent[]> {
  const headers = { 'x-a2a-extensions': EXTENSION_URI };
  const response = await fetch(`${url}/v1/tasks/${taskId}/events?after=0`, { headers });
  const { events } = (await response.json()) as { events: { event: StreamEvent }[] };
  return events.map(({ event }) => event);
}

const modelsIn = (events: readonly StreamEvent[]): (string | undefined)[] =>
  events.flatMap((event) =>
    event.kind === 'status-update' ? [eventIn(event.metadata)?.model] : [],
  );

test('after /model every update names the new model: prompts, answers, calls and states; so does the flat API', async (t) => {
  const { url, say, answer } = await begin(t, [done]);
  const { taskId } = await say('hello');
  const { events } = await say('/model offline', { taskId });
  assert.equal(modelsIn(events).at(-1), 'offline', 'the answer of the command too');
  const before = (await logOf(url, taskId)).length;
  await answer(await say('create a.txt with hello', { taskId }), 'proceed_once');
  const later = modelsIn((await logOf(url, taskId)).slice(before));
  assert.ok(later.length >= 6);
  assert.deepEqual([...new Set(later)], ['offline']);
  const { body } = await get(`${url}/tasks/${taskId}/metadata`);
  assert.equal((body as { metadata: { model: string } }).metadata.model, 'offline');
  const back = await say('/model scripted', { taskId });
  assert.equal(modelsIn(back.events).at(-1), 'scripted');
});

test('after a restart the log goes on with the model of the session', async (t) => {
  const place = makePlace(t);
  const first = await begin(t, [done], { place });
  const { taskId } = await first.say('hello');
  await first.say('/model offline', { taskId });
  await first.stop();
  const { url, say } = await begin(t, [done], { place });
  const before = (await logOf(url, taskId)).length;
  await say('list', { taskId });
  const later = modelsIn((await logOf(url, taskId)).slice(before));
  assert.ok(later.length >= 4);
  assert.deepEqual([...new Set(later)], ['offline']);
});

test('a helper works with the model of its session', async (t) => {
  const asked: string[] = [];
  await using vendor = await fakeVendor(() => {
    asked.push('vendor');
    return asked.length === 1 ? { events: TASK } : { events: openaiCompatible.answer };
  });
  for (const [name, value] of Object.entries(openaiCompatible.env(vendor.url, 'key'))) {
    process.env[name] = value;
  }
  const { say, requests } = await begin(t, [done]);
  const { taskId } = await say('hello');
  assert.equal((await say(`/model ${openaiCompatible.model}`, { taskId })).error, undefined);
  assert.equal((await say('delegate', { taskId })).state, 'completed');
  assert.equal(asked.length, 3, 'the call, the helper, the answer');
  assert.equal(requests.length, 1, 'the model of the workspace answered only the first prompt');
});

test('/model refuses a name that the vendor does not have, with the nearest names, and the model stays', async (t) => {
  await using vendor = await fakeVendor([], { models: ['llama', 'llama-large', 'other'] });
  for (const [name, value] of Object.entries(openaiCompatible.env(vendor.url, 'key'))) {
    process.env[name] = value;
  }
  const { say } = await begin(t, [done]);
  const { error, text } = await say('/model openai-compatible:lama');
  assert.match(error ?? '', /unknown model "openai-compatible:lama": did you mean .*:llama\?$/);
  assert.equal(text, error);
  assert.equal((await say('/model')).text, 'The model is scripted.');
});

test('contextTokens is the size of the next request: nothing after /clear, and the summary after /compress', async (t) => {
  const { say, goOn } = await talk(t, [LONG, done, done, done, says('Short.'), done]);
  const tokens = (events: readonly StreamEvent[]): number => {
    const last = events.at(-1);
    const usage = last?.kind === 'status-update' ? eventIn(last.metadata)?.usage : undefined;
    assert.ok(usage?.contextTokens !== undefined);
    return usage.contextTokens;
  };
  await say('write much');
  for (const text of ['one', 'two']) await goOn(text);
  const full = tokens(await goOn('three'));
  assert.ok(full > 2000, `${full}`);
  const compressed = tokens(await goOn('/compress'));
  assert.ok(compressed > 0 && compressed < 100, `${compressed}`);
  assert.ok(tokens(await goOn('and now?')) > 0);
  assert.equal(tokens(await goOn('/clear')), 0);
});

test('a client that joins gets the mode, the model and the tokens in use, and events say when they change', async (t) => {
  const { ws, live } = await serveSession(t, { script: [LONG] });
  const owner = live.join({ kind: 'terminal' });
  const watcher = new Watcher(owner);
  const first = new RawClient(t, ws);
  await first.snapshot();
  await owner.prompt('write much');
  await watcher.state('completed', 1);
  const joined = await new RawClient(t, ws).snapshot();
  assert.ok(joined.params.usage.contextTokens > 2000);
  let turns = 1;
  for (const command of ['/approval  plan', '/model offline', '/clear']) {
    await owner.prompt(command);
    await watcher.state('completed', ++turns);
  }
  const { params } = await new RawClient(t, ws).snapshot();
  assert.deepEqual(
    [params.approval, params.model, params.usage.contextTokens],
    ['plan', 'offline', 0],
  );
  const said = first.frames
    .filter(({ method }) => method === 'tasks/event')
    .map(({ params: { event } }) => eventIn(event.metadata));
  const modes = said.map((about) => about?.approval).filter((mode) => mode !== undefined);
  assert.deepEqual([...new Set(modes)], ['ask', 'plan']);
});

test('a mode that is set while a question waits is known to clients over ACP and on /ws at once', async (t) => {
  const started = await startLive(t, { script: [writes('a.txt', 'A'), done] });
  const editor = editorIn(t, started);
  await editor.open();
  const owner = started.live.join({ kind: 'terminal' });
  const client = new RawClient(t, `${started.url.replace('http', 'ws')}/ws`);
  await client.snapshot();
  await owner.prompt('write');
  await editor.until(() => editor.asked.length === 1);
  await started.live.handler.sendMessage(
    {
      message: {
        kind: 'message',
        messageId: 'mode',
        role: 'user',
        taskId: started.live.taskId,
        parts: [{ kind: 'text', text: '/approval auto-edit' }],
      },
      configuration: { blocking: false },
    },
    owner.call,
  );
  await editor.until(() => editor.of('current_mode_update').length === 1);
  assert.equal(editor.of('current_mode_update')[0]?.currentModeId, 'auto-edit');
  const told = await client.frame(
    ({ params }) => eventIn(params?.event?.metadata)?.approval === 'auto-edit',
  );
  assert.equal(told.params.event.status.state, 'input-required');
});

test('the status line has the model, the mode and the tokens at once after /model, /approval and /clear, and after --resume', async (t) => {
  const place = makePlace(t);
  const { terminal, say } = await startShared(t, { place, script: [LONG] });
  say('write much');
  await terminal.sees(/scripted.* · ask · [3-9]k tokens/);
  say('/approval plan');
  await terminal.sees(/scripted.* · plan · [3-9]k tokens/);
  terminal.type(CTRL_C);
  await terminal.sees(/again/);
  terminal.type(CTRL_C);
  await terminal.exited();
  const args = ['--workspace', place.workspace, '--model', 'offline', '--resume'];
  const id = /--resume ([\w-]+)/.exec(terminal.all())?.[1] ?? '';
  const again = startProgram(t, [...args, id], { place });
  await again.sees(READY);
  await again.sees(/offline · plan · [3-9]k tokens/);
  again.type(`/clear${ENTER}`);
  await again.sees(/offline · plan · 0 tokens/);
  again.type(`/model scripted:${join(place.home, 'script.json')}${ENTER}`);
  await again.sees(/only be set when Parley starts/);
  again.type(`/approval ask${ENTER}`);
  await again.sees(/offline · ask · 0 tokens/);
});
