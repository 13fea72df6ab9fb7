// Everybody at once: clients of every kind, who answer at random and come and go at random.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { connect } from '../../src/client/connect.ts';
import type { LiveSession } from '../../src/live/client/session.ts';
import { joinLive } from '../../src/live/client/join.ts';
import { EXTENSION_URI, type ToolCall } from '../../src/protocol/development-tool/index.ts';
import { A2AError, type StreamEvent } from '../../src/protocol/index.ts';
import { callIn, outline } from '../coder/support.ts';
import { bridge, openSession, serveSession } from './support.ts';

const CALLS = 20;
const SEEDS = process.env['PARLEY_TEST_LONG'] === '1' ? 100 : 3;

/** Numbers from 0 to 1 that are the same for the same seed. */
function random(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Twenty calls, alone and side by side, of which each leaves a mark that shows how often it ran. */
function makeScript(chance: () => number): ScriptedResponse[] {
  const calls = Array.from({ length: CALLS }, (_, at) => ({
    call: { name: 'run_shell_command', args: { command: `printf x >> mark-${at}` } },
  }));
  const script: ScriptedResponse[] = [];
  while (calls.length > 0) script.push(calls.splice(0, 1 + Math.floor(chance() * 3)));
  return [...script, [{ text: 'All done.' }]];
}

/** What one client has seen: each event with its number, as everybody should see it. */
class History {
  readonly events: string[] = [];
  readonly calls = new Map<string, ToolCall[]>();
  readonly done = Promise.withResolvers<void>();

  add(seq: number, event: StreamEvent): ToolCall | undefined {
    this.events.push(`${seq} ${outline(event)}`);
    const call = callIn(event);
    if (call)
      this.calls.set(call.tool_call_id, [...(this.calls.get(call.tool_call_id) ?? []), call]);
    if (event.kind === 'status-update' && event.status.state === 'completed') this.done.resolve();
    return call?.confirmation_request ? call : undefined;
  }
}

type Confirm = (id: string, option: string) => Promise<unknown>;

/** Answers a call, or leaves it to the others; what came of it is either that it counts, or that somebody was first. */
async function maybeAnswer(chance: () => number, call: ToolCall, confirm: Confirm): Promise<void> {
  for (let wait = Math.floor(chance() * 4); wait > 0; wait--) await turn();
  const option = chance() < 0.7 ? 'proceed_once' : 'cancel';
  try {
    await confirm(call.tool_call_id, option);
  } catch (error) {
    const late = error instanceof A2AError && error.reason === 'ALREADY_RESOLVED';
    const settled = error instanceof A2AError && /does not wait/.test(error.message);
    const cut = error instanceof Error && error.name === 'ConnectionError';
    if (!late && !settled && !cut) throw error;
  }
}

async function follow(
  session: LiveSession,
  chance: () => number,
  cut?: () => void,
): Promise<History> {
  const history = new History();
  const answers: Promise<void>[] = [];
  const confirm: Confirm = (tool_call_id, selected_option_id) =>
    session.confirm({ tool_call_id, selected_option_id });
  const pending = new Set<string>();
  for await (const item of session.items()) {
    if (item.kind === 'snapshot') assert.equal(item.snapshot.seq, 1);
    if (item.kind !== 'event') continue;
    const call = history.add(item.seq, item.event);
    // Somebody has to answer, even one who was cut off while they did.
    if (call && !pending.has(call.tool_call_id)) {
      pending.add(call.tool_call_id);
      answers.push(maybeAnswer(chance, call, confirm));
    }
    if (cut && chance() < 0.05) cut();
    if (item.event.kind === 'status-update' && item.event.status.state === 'completed') break;
  }
  await Promise.all(answers);
  return history;
}

/** One who has no WebSocket: an ordinary A2A client, over HTTP and server-sent events. */
async function subscribe(url: string, taskId: string, chance: () => number, cut: () => void) {
  const history = new History();
  await using agent = await connect(url, { extensions: [EXTENSION_URI], retry: { delayMs: 2 } });
  const answers: Promise<void>[] = [];
  const confirm: Confirm = (tool_call_id, selected_option_id) => {
    const data = { tool_call_id, selected_option_id };
    const configuration = { blocking: false };
    return agent.send([{ kind: 'data', data }], { taskId, configuration });
  };
  for await (const { event, seq = 0 } of agent.resubscribe(taskId, { after: 1 })) {
    const call = history.add(seq, event);
    if (call && chance() < 0.5) answers.push(maybeAnswer(chance, call, confirm).catch(busy));
    if (chance() < 0.05) cut();
    if (event.kind === 'status-update' && event.status.state === 'completed') break;
  }
  await Promise.all(answers);
  return history;
}

/** Over plain A2A, a message that comes while the turn is between two states is refused. */
function busy(error: unknown): void {
  if (!(error instanceof A2AError) || !/being worked on/.test(error.message)) throw error;
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`all see the same, and no call runs twice or is left open (seed ${seed})`, async (t) => {
    await everybody(t, seed);
  });
}

async function everybody(t: TestContext, seed: number): Promise<void> {
  const chance = random(seed);
  const { live, url, place } = await serveSession(t, { script: makeScript(chance) });
  const [one, two, three] = [await bridge(t, url), await bridge(t, url), await bridge(t, url)];
  const terminal = live.join({ kind: 'terminal' });
  const retry = { delayMs: 2, attempts: 100 };
  const sessions = await Promise.all([
    joinLive(one.url, { name: 'one', retry }),
    joinLive(two.url, { name: 'two', retry }),
  ]);
  t.after(() => Promise.all(sessions.map((session) => session.close())));
  const following = [
    follow(terminal, chance),
    follow(sessions[0], chance, one.cut),
    follow(sessions[1], chance, two.cut),
    subscribe(three.url, live.taskId, chance, three.cut),
  ];
  await terminal.prompt('begin');
  const [first, ...others] = await Promise.all(following);
  assert.ok(first);
  for (const other of others) assert.deepEqual(other.events, first.events);
  assert.equal(first.calls.size, CALLS);
  for (const updates of first.calls.values()) {
    const last = updates.at(-1)!;
    const { command } = last.input_parameters;
    assert.ok(typeof command === 'string');
    const mark = join(place.workspace, command.split(' ').at(-1)!);
    const ran = existsSync(mark) ? readFileSync(mark, 'utf8') : '';
    assert.equal(ran, last.status === 'SUCCEEDED' ? 'x' : '', `${command}: ${last.status}`);
    assert.match(last.status, /^(?:SUCCEEDED|CANCELLED)$/);
  }
}

test('one who joins late, again and again, ends with the same history', async (t) => {
  const chance = random(7);
  const { live } = await openSession(t, { script: makeScript(chance) });
  const terminal = live.join({ kind: 'terminal' });
  const whole = follow(terminal, chance);
  const events: string[] = [];
  await terminal.prompt('begin');
  let after = 1;
  for (let done = false; !done;) {
    const visitor = live.join({ kind: 'a2a', name: 'visitor' });
    let left = 1 + Math.floor(chance() * 5);
    for await (const item of visitor.items({ after })) {
      if (item.kind !== 'event') continue;
      after = item.seq;
      events.push(`${item.seq} ${outline(item.event)}`);
      done = item.event.kind === 'status-update' && item.event.status.state === 'completed';
      if (done || --left === 0) break;
    }
    await visitor.close();
  }
  assert.deepEqual(events, (await whole).events);
});
