// What the fixtures of test/stores/VERSION contain: written by scripts/store-fixtures.ts with the code of that version,
// read by stores.test.ts with the code of today. Both use only the public API.
import assert from 'node:assert/strict';
import { createRunner, llmAgent, type ArtifactStore, type SessionStore } from '../../src/agent.ts';
import { connect } from '../../src/client.ts';
import type { EmbeddedGateway } from '../../src/gateway.ts';
import {
  createAgent,
  serve,
  type SendResult,
  type Task,
  type TaskStore,
} from '../../src/server.ts';

/** The stores of one database, or of three SQLite files. */
export interface Stores {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly artifacts: ArtifactStore;
  readonly gateway: EmbeddedGateway;
  createKey(): Promise<string>;
}

/** What a reader has to know. */
export interface Contents {
  readonly finished: string;
  readonly waiting: string;
  /** An API key of the gateway. It opens nothing but the fixture. */
  readonly key: string;
}

const SESSION = { app: 'fixture', user: 'ann', id: 's1' };
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Asks for a city, and repeats other texts. */
const agent = createAgent({ name: 'Fixture', description: 'Fills stores' }, async function* (ctx) {
  if (ctx.text === 'ask') {
    const { text: city } = await ctx.ask('Which city?');
    yield `Off to ${city}!`;
  } else {
    yield `you said ${ctx.text}`;
  }
});

async function served<T>(tasks: TaskStore, use: (url: string) => Promise<T>): Promise<T> {
  const listening = await serve(agent, { store: tasks, logger: quiet }).listen(0);
  try {
    return await use(listening.url);
  } finally {
    await listening.close();
  }
}

function taskOf(result: SendResult): Task {
  assert.ok(result.kind === 'task');
  return result;
}

export async function fill(stores: Stores): Promise<Contents> {
  const { tasks, sessions, artifacts } = stores;
  const ids = await served(tasks, async (url) => {
    const client = await connect(url);
    const finished = taskOf(await client.send('hello'));
    const waiting = taskOf(await client.send('ask'));
    return { finished: finished.id, waiting: waiting.id };
  });
  const host = llmAgent({ name: 'host', model: 'offline' });
  const runner = createRunner({ agent: host, app: SESSION.app, sessions });
  await runner.runToEnd({
    user: SESSION.user,
    session: SESSION.id,
    message: 'remember the fixture',
  });
  await artifacts.save(SESSION, 'note.txt', { kind: 'text', text: 'a note' });
  return { ...ids, key: await stores.createKey() };
}

/** Reads everything, and goes on with it. */
export async function check(stores: Stores, { finished, waiting, key }: Contents): Promise<void> {
  const { tasks, sessions, artifacts, gateway } = stores;
  await served(tasks, async (url) => {
    const client = await connect(url);
    const task = await client.get(finished);
    assert.equal(task.status.state, 'completed');
    assert.match(JSON.stringify(task.artifacts), /you said hello/);
    assert.equal((await client.get(waiting)).status.state, 'input-required');
    assert.equal(await client.send('Oslo', { taskId: waiting }).text(), 'Off to Oslo!');
    assert.equal(await client.send('again').text(), 'you said again');
  });
  const session = await sessions.get(SESSION);
  assert.match(JSON.stringify(session?.events), /remember the fixture/);
  assert.match(JSON.stringify(await artifacts.load(SESSION, 'note.txt')), /a note/);
  const answer = await gateway.fetch(
    new Request('http://localhost/a2a/keys', { headers: { authorization: `Bearer ${key}` } }),
  );
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /fixture/);
}
