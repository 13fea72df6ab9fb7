import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from './agent.ts';
import { customAgent } from './agents/custom.ts';
import { parallelAgent } from './agents/workflow.ts';
import { createRunner } from './run/runner.ts';
import type { SessionStore } from './session.ts';
import { memorySessions } from './sessions/memory.ts';

const EVENTS = 2000;

/** Says many things, and looks at the conversation each time. */
function talker(name: string, views: Set<unknown>): Agent {
  return customAgent({ name }, async function* (context) {
    for (let index = 0; index < EVENTS; index++) {
      yield context.event({ content: { role: 'model', parts: [{ kind: 'text', text: 'x' }] } });
      views.add(context.events);
    }
  });
}

/** Counts what the store is asked to do. */
function counted(store: SessionStore): {
  sessions: SessionStore;
  reads: number[];
  writes: number[];
} {
  const reads: number[] = [];
  const writes: number[] = [];
  const sessions: SessionStore = {
    async open(key, state) {
      const session = await store.open(key, state);
      reads.push(session.events.length);
      return session;
    },
    async get(key) {
      const session = await store.get(key);
      reads.push(session?.events.length ?? 0);
      return session;
    },
    append(key, events) {
      writes.push(events.length);
      return store.append(key, events);
    },
    list: (owner, page) => store.list(owner, page),
    delete: (key) => store.delete(key),
    close: () => store.close(),
  };
  return { sessions, reads, writes };
}

test('however many events a run has, the session is read once and each event is written once', async () => {
  const { sessions, reads, writes } = counted(memorySessions());
  const runner = createRunner({ agent: talker('a', new Set()), sessions });
  await runner.runToEnd({ user: 'ann', session: 's', message: 'go' });
  assert.deepEqual(reads, [0]);
  assert.equal(writes.length, EVENTS + 1);
  assert.ok(writes.every((events) => events === 1));
});

test('an agent that looks at the conversation after each event gets no copy of it', async () => {
  const views = new Set<unknown>();
  const agents = ['left', 'right'].map((name) => talker(name, views));
  const runner = createRunner({ agent: parallelAgent({ name: 'team', subAgents: agents }) });
  await runner.runToEnd({ user: 'ann', session: 's', message: 'go' });
  assert.equal(views.size, 2);
});
