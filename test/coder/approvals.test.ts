/** Many clients, one question: the first answer counts, and everybody else is told whose it was. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { StreamEvent } from '../../src/protocol/index.ts';
import {
  callIn,
  confirmation,
  makePlace,
  outline,
  rpc,
  startCoder,
  stream,
  userMessage,
} from './support.ts';

const LONG = process.env['PARLEY_TEST_LONG'] === '1';
const CLIENTS = 50;
/** In the long run as many as a thousand. */
const ROUNDS = LONG ? 1000 : 5;
const OPTIONS = ['proceed_once', 'cancel'];

function shell(command: string): ScriptedResponse {
  return [{ call: { name: 'run_shell_command', args: { command } } }];
}

/** Begins a turn and returns its task and the calls that wait. */
async function ask(url: string, text: string) {
  const events = await stream(url, userMessage(text));
  const [task] = events;
  assert.ok(task?.kind === 'task');
  const calls = events.map(callIn).filter((call) => call?.confirmation_request !== undefined);
  return { id: task.id, events, calls: calls.map((call) => call!) };
}

interface Outcome {
  readonly name: string;
  readonly option: string;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

async function answer03(url: string, id: string, callId: string, name: string, option: string) {
  const data = { tool_call_id: callId, selected_option_id: option };
  const message = { ...confirmation(id, data), metadata: { [EXTENSION_URI]: { client: name } } };
  const { error } = await rpc(url, 'message/send', { message });
  return { name, option, ...(error && { error }) };
}

async function answer1(url: string, id: string, callId: string, name: string, option: string) {
  const { messageId } = userMessage('');
  const message = {
    messageId,
    taskId: id,
    role: 'ROLE_USER',
    parts: [{ data: { tool_call_id: callId, selected_option_id: option } }],
    metadata: { [EXTENSION_URI]: { client: name } },
  };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message },
  });
  const headers = {
    'content-type': 'application/json',
    'a2a-version': '1.0',
    'a2a-extensions': EXTENSION_URI,
  };
  const response = await fetch(url, { method: 'POST', headers, body });
  const { error } = (await response.json()) as { error?: Outcome['error'] };
  return { name, option, ...(error && { error }) };
}

/** What a late answer is told, on either wire. */
function toldOf(error: Outcome['error']): { reason?: unknown; info: Record<string, unknown> } {
  const data: unknown = error?.data;
  if (Array.isArray(data)) {
    const [detail] = data as { reason?: unknown; metadata?: Record<string, unknown> }[];
    return { reason: detail?.reason, info: detail?.metadata ?? {} };
  }
  const { reason, ...info } = (data ?? {}) as Record<string, unknown>;
  return { reason, info };
}

test(`of ${CLIENTS} clients on both wires exactly one is taken, ${ROUNDS} times`, async (t) => {
  const place = makePlace(t);
  const script = Array.from({ length: ROUNDS }, (_, round): ScriptedResponse[] => [
    shell(`echo ${round} >> ran.txt`),
    [{ text: 'done' }],
  ]).flat();
  const { url } = await startCoder(t, place, { script });
  let allowed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { id, calls } = await ask(url, `round ${round}`);
    const callId = calls[0]!.tool_call_id;
    const all = Array.from({ length: CLIENTS }, async (_, at) => {
      const option = OPTIONS[Math.floor(Math.random() * OPTIONS.length)]!;
      for (let wait = Math.random() * 5; wait > 1; wait--) await new Promise(setImmediate);
      return (at % 2 === 0 ? answer03 : answer1)(url, id, callId, `client ${at}`, option);
    });
    const outcomes: Outcome[] = await Promise.all(all);
    const winners = outcomes.filter(({ error }) => error === undefined);
    assert.equal(winners.length, 1);
    const [winner] = winners;
    for (const { error } of outcomes) {
      if (!error) continue;
      assert.equal(error.code, -32004);
      assert.match(error.message, /^already resolved by /);
      const { reason, info } = toldOf(error);
      assert.equal(reason, 'ALREADY_RESOLVED');
      assert.deepEqual(info, { resolvedBy: winner!.name, selectedOptionId: winner!.option });
    }
    if (winner!.option !== 'cancel') allowed++;
  }
  const ran =
    allowed === 0 ? [] : readFileSync(join(place.workspace, 'ran.txt'), 'utf8').split('\n');
  assert.equal(ran.filter((line) => line !== '').length, allowed);
});

async function settle(t: TestContext, order: readonly number[]): Promise<string[]> {
  const place = makePlace(t);
  const names = ['a', 'b', 'c'];
  const calls = names.map((name) => ({
    call: { name: 'write_file', args: { path: `${name}.txt`, content: name } },
  }));
  const { url } = await startCoder(t, place, { script: [calls, [{ text: 'all written' }]] });
  const asked = await ask(url, 'three files');
  assert.equal(asked.calls.length, 3);
  const seen: StreamEvent[] = [];
  for (const at of order) {
    const data = {
      tool_call_id: asked.calls[at]!.tool_call_id,
      selected_option_id: 'proceed_once',
    };
    seen.push(...(await stream(url, confirmation(asked.id, data))));
  }
  assert.equal(outline(seen.at(-1)!), 'STATE_CHANGE completed final');
  for (const name of names) {
    assert.equal(readFileSync(join(place.workspace, `${name}.txt`), 'utf8'), name);
  }
  return seen.map(outline);
}

const one = ['TOOL_CALL_UPDATE EXECUTING', 'TOOL_CALL_UPDATE SUCCEEDED'];
const asks = 'STATE_CHANGE input-required final';
const last = ['TEXT_CONTENT', 'STATE_CHANGE completed final'];

test('calls that wait together are answered one after the other', async (t) => {
  const expected = [...one, asks, ...one, asks, ...one, ...last];
  assert.deepEqual(await settle(t, [0, 1, 2]), expected);
});

test('calls that wait together are answered in any order, and run in the order of the model', async (t) => {
  const waits = 'TOOL_CALL_UPDATE PENDING';
  const expected = [waits, asks, ...one, asks, ...one, ...one, ...last];
  assert.deepEqual(await settle(t, [2, 0, 1]), expected);
});

test('while one call runs, another that waits is answered and runs after it', async (t) => {
  const place = makePlace(t);
  const wait = 'until [ -e go ]; do sleep 0.02; done; echo waited';
  const { url } = await startCoder(t, place, {
    script: [[...shell(wait), ...shell('echo ran > after')], [{ text: 'both ran' }]],
  });
  const { id, calls } = await ask(url, 'two commands');
  const [first, second] = calls.map((call) => call.tool_call_id);
  const waiting = stream(
    url,
    confirmation(id, { tool_call_id: first, selected_option_id: 'proceed_once' }),
  );
  const data = { tool_call_id: second, selected_option_id: 'proceed_once' };
  const send = () =>
    rpc(url, 'message/send', {
      message: confirmation(id, data),
      configuration: { blocking: false },
    });
  let reply = await send();
  while (reply.error?.code === -32004 && !JSON.stringify(reply).includes('ALREADY')) {
    reply = await send();
  }
  assert.equal(reply.error, undefined);
  writeFileSync(join(place.workspace, 'go'), '');
  const events = await waiting;
  const lives = events.flatMap((event) => {
    const call = callIn(event);
    return call ? [`${call.tool_call_id === first ? 1 : 2} ${call.status}`] : [];
  });
  const settled = lives.filter((each) => !each.endsWith('EXECUTING'));
  assert.deepEqual(settled, ['2 PENDING', '1 SUCCEEDED', '2 SUCCEEDED']);
  assert.deepEqual(events.map(outline).slice(-2), last, 'the model went on');
});
