// Whatever an agent does, everybody sees the same task: who folds it live, who reads it after a restart, and who reads
// it over a connection that keeps breaking.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { connect } from '../../src/client/index.ts';
import { fold, reduce, type Task, type TaskEvent } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { type A2AAgent, type ExecutorEvent, serve } from '../../src/server.ts';
import { startBadNetwork } from '../support/bad-network.ts';

const RUNS = process.env['PARLEY_TEST_LONG'] ? 200 : 8;

const text = fc.string({ unit: 'binary', maxLength: 40 });
// The client refuses responses with a key `__proto__`.
const data = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => !JSON.stringify(value).includes('"__proto__":'));
const part = fc.oneof(
  text.map((value) => ({ kind: 'text' as const, text: value })),
  data.map((value) => ({ kind: 'data' as const, data: value ?? null })),
  fc.record({
    kind: fc.constant('file' as const),
    file: fc.record({ uri: fc.webUrl(), name: text }),
  }),
);
const artifactEvent: fc.Arbitrary<ExecutorEvent> = fc.record({
  kind: fc.constant('artifact-update' as const),
  artifact: fc.record({
    artifactId: fc.constantFrom('a', 'b', 'c'),
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
  }),
  append: fc.boolean(),
});
const statusEvent: fc.Arbitrary<ExecutorEvent> = fc.record({
  kind: fc.constant('status-update' as const),
  state: fc.constant('working' as const),
  message: text.map((value) => value || 'on it'),
});
const events = fc.array(fc.oneof({ weight: 4, arbitrary: artifactEvent }, statusEvent), {
  maxLength: 60,
});

/** Yields what it is told to, and ends as it is told to. */
function scripted(list: readonly ExecutorEvent[], state: 'completed' | 'failed'): A2AAgent {
  return {
    profile: { name: 'Scripted', description: 'Does as it is told' },
    async *execute() {
      for (const event of list) {
        yield event;
        await new Promise((resolve) => setImmediate(resolve));
      }
      yield { kind: 'status-update', state };
    },
  };
}

for (const version of ['0.3', '1.0'] as const) {
  test(`a random log folds to the same task live, after a restart, and through a breaking network (${version})`, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'parley-fold-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        events,
        fc.constantFrom('completed' as const, 'failed' as const),
        // Enough for the largest event and its head; with less there is no way on.
        fc.integer({ min: 3000, max: 12_000 }),
        async (list, state, cutAfterBytes) => {
          const file = path.join(folder, `${++run}.db`);
          const agent = scripted(list, state);
          let port = 0;
          const network = await startBadNetwork(t, () => port);
          const options = { store: sqliteStore(file), publicUrl: network.url };
          const first = await serve(agent, options).listen();
          ({ port } = first);
          const retry = { attempts: 50, delayMs: 1, maxDelayMs: 5 };
          const client = await connect(network.url, { version, retry });
          network.allow(() => cutAfterBytes);
          let through: Task | undefined;
          const got: TaskEvent[] = [];
          for await (const { event } of client.stream('go', { retrySend: true })) {
            assert.ok(event.kind !== 'message');
            got.push(event);
            through = reduce(through, event);
          }
          network.allow(() => Number.POSITIVE_INFINITY);
          const live = await client.get(through!.id);
          await first.close();

          const second = await serve(agent, { store: sqliteStore(file) }).listen();
          const again = await (await connect(second.url, { version })).get(through!.id);
          await second.close();
          assert.deepEqual(through, live);
          assert.deepEqual(again, live);
          assert.deepEqual(fold(got), live);
          assert.equal(got.length, list.length + 2);
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
}
