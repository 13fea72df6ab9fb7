// The conversation goes through many tasks: everybody sees all of each, whoever is slow, away, or cut off.
import assert from 'node:assert/strict';
import { setImmediate as moment } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import type { LiveItem, LiveSession } from '../../src/live/client/session.ts';
import { joinLive } from '../../src/live/client/join.ts';
import type { Live } from '../../src/live/hub.ts';
import { eventIn } from '../../src/protocol/development-tool/index.ts';
import { A2AError, textOf, type Message } from '../../src/protocol/index.ts';
import { bridge, openSession, serveSession, Watcher } from './support.ts';

const SEEDS = process.env['PARLEY_TEST_LONG'] === '1' ? 100 : 5;
const TURNS = 30;
const FAILS: ScriptedResponse = [{ error: { status: 400, message: 'no' } }];
/** A turn that always goes well. */
const LAST = '/help';
const says = (text: string): ScriptedResponse => [{ text }];

function random(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const isPrompt = (item: LiveItem): string | undefined => {
  if (item.kind !== 'event' || item.event.kind !== 'status-update') return undefined;
  const { metadata, status } = item.event;
  const said = status.message?.role === 'user' && eventIn(metadata)?.kind === 'TEXT_CONTENT';
  return said ? textOf(status.message?.parts ?? []) : undefined;
};

/** Until the last prompt's turn is over: the tasks and their events, by their numbers, and what was said. */
async function reading(
  session: LiveSession,
  each: () => Promise<void> | void,
): Promise<{ readonly seen: string[]; readonly said: string[] }> {
  const seen: string[] = [];
  const said: string[] = [];
  for await (const item of session.items()) {
    if (item.kind === 'snapshot') {
      const { taskId, seq } = item.snapshot;
      seen.push(`${taskId}#${seq}`);
    } else if (item.kind === 'event') {
      seen.push(`${item.taskId}#${item.seq}`);
      const text = isPrompt(item);
      if (text !== undefined) said.push(text);
      const state = item.event.kind === 'status-update' && item.event.status.state;
      if (said.at(-1) === LAST && state === 'completed') break;
    }
    await each();
  }
  return { seen, said };
}

/** Prompts from all, of which many fail or are canceled over plain A2A. Returns those that were taken. */
async function talk(
  live: Live,
  sessions: readonly LiveSession[],
  chance: () => number,
): Promise<string[]> {
  const taken: string[] = [];
  for (let at = 0; at < TURNS; at++) {
    const session = sessions[Math.floor(chance() * sessions.length)]!;
    // One that is cut off while it asks does not know, and asks again in other words.
    for (let tries = 0; ; tries++) {
      try {
        await session.prompt(`${at}.${tries}`);
        taken.push(`${at}.${tries}`);
        break;
      } catch (error) {
        if (!(error instanceof Error && error.name === 'ConnectionError')) throw error;
      }
    }
    for (let wait = Math.floor(chance() * 20); wait > 0; wait--) await moment();
    if (chance() < 0.3) await live.handler.cancelTask({ id: live.taskId }).catch(notCancelable);
  }
  return taken;
}

function notCancelable(error: unknown): void {
  if (!(error instanceof A2AError) || error.kind !== 'taskNotCancelable') throw error;
}

async function manyTasks(t: TestContext, seed: number): Promise<void> {
  const chance = random(seed);
  const script = Array.from({ length: 4 * TURNS }, () => {
    const one = chance();
    return one < 0.4 ? FAILS : one < 0.6 ? says('Well.') : says('x '.repeat(200));
  });
  const { live, url } = await serveSession(t, { script });
  const [one, two] = [await bridge(t, url), await bridge(t, url)];
  const retry = { delayMs: 2, attempts: 100 };
  const remote = await Promise.all([
    joinLive(one.url, { name: 'one', retry }),
    joinLive(two.url, { name: 'two', retry }),
  ]);
  t.after(() => Promise.all(remote.map((session) => session.close())));
  const terminal = live.join({ kind: 'terminal' });
  const slow = live.join({ kind: 'a2a', name: 'slow' });
  const cutting = (cut: () => void) => () => void (chance() < 0.05 && cut());
  const readers = [
    reading(terminal, () => undefined),
    reading(slow, async () => {
      for (let wait = Math.floor(chance() * 30); wait > 0; wait--) await moment();
    }),
    reading(remote[0], cutting(one.cut)),
    reading(remote[1], cutting(two.cut)),
  ];
  const taken = await talk(live, [terminal, slow, ...remote], chance);
  await terminal.prompt(LAST);
  const [first, ...others] = await Promise.all(readers);
  assert.ok(first);
  for (const other of others) assert.deepEqual(other, first);
  // None is lost, none is sent twice, and they come in their order.
  assert.deepEqual(
    first.said.filter((text) => taken.includes(text)),
    taken,
  );
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`all see every task from its start to its end (seed ${seed})`, async (t) => {
    await manyTasks(t, seed);
  });
}

test('a prompt that waits goes on waiting while the server has no room for it', async (t) => {
  const script: ScriptedResponse[] = [
    [{ call: { name: 'run_shell_command', args: { command: 'true' } } }],
    [{ text: 'It is mine.' }, { delayMs: 60_000 }],
    says('At last.'),
  ];
  const { live, server } = await openSession(t, { script, server: { limits: { maxRunning: 1 } } });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  await ann.session.prompt('run it');
  await ann.state('input-required');
  assert.equal((await ann.session.prompt('and then')).queued, true);
  const message: Message = {
    kind: 'message',
    messageId: 'm1',
    role: 'user',
    parts: [{ kind: 'text', text: 'take the only place' }],
  };
  const other = await server.handler.sendMessage({ message, configuration: { blocking: false } });
  assert.ok(other.kind === 'task');
  // Until it speaks, what it says could still be somebody else's.
  for await (const { event } of await server.handler.subscribe({ id: other.id })) {
    if (event.kind === 'artifact-update') break;
  }
  const before = live.taskId;
  await server.handler.cancelTask({ id: before });
  await ann.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== before ? true : undefined,
  );
  // As many as a prompt that waits could have been refused in.
  for (let wait = 0; wait < 100; wait++) await moment();
  await server.handler.cancelTask({ id: other.id });
  await ann.state('completed');
  assert.deepEqual(ann.said.slice(-2), ['Ann: and then', 'agent: At last.']);
});
