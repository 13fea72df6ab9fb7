// What an event costs does not depend on how many there were before it, and what is finished costs nothing.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MessageSendParams } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { createHandler, memoryStore, type TaskStore } from '../../src/server.ts';
import { bench as benchAgent } from '../../src/cli/agents/bench.ts';

let serial = 0;

function message(text: string): MessageSendParams {
  const parts = [{ kind: 'text' as const, text }];
  return { message: { kind: 'message', messageId: `m${++serial}`, role: 'user', parts } };
}

function temporary(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-cost-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'tasks.db');
}

const STORES: Record<string, (t: TestContext) => TaskStore> = {
  memory: () => memoryStore(),
  sqlite: (t) => sqliteStore(temporary(t)),
};

for (const [name, open] of Object.entries(STORES)) {
  test(`an event of a task of 5,000 costs no more than one of 100 (${name})`, async (t) => {
    const handler = createHandler(benchAgent, { store: open(t) });
    t.after(() => handler.close());

    /** Microseconds of this process's CPU per event, read as a stream. */
    async function cost(tasks: number, events: number): Promise<number> {
      const before = process.cpuUsage();
      for (let task = 0; task < tasks; task++) {
        let count = 0;
        for await (const _ of await handler.streamMessage(message(`task ${events} 16 burst`)))
          count++;
        assert.equal(count, events);
      }
      const { user, system } = process.cpuUsage(before);
      return (user + system) / (tasks * events);
    }

    await cost(50, 100);
    await cost(1, 5000);
    const short: number[] = [];
    const long: number[] = [];
    for (let round = 0; round < 7; round++) {
      short.push(await cost(50, 100));
      long.push(await cost(1, 5000));
    }
    // The least of several is what it costs; more than that is somebody else's work on this machine.
    const ratio = Math.min(...long) / Math.min(...short);
    assert.ok(ratio < 1.5, `an event of 5,000 costs ${ratio.toFixed(2)} times one of 100`);
  });
}

test('20,000 finished tasks leave the heap as it was (sqlite)', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  /** What is held for good: what the last turns of the loop still hold goes with the next ones. */
  async function held(): Promise<number> {
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      gc();
    }
    return process.memoryUsage().heapUsed;
  }
  const handler = createHandler(benchAgent, { store: sqliteStore(temporary(t)) });
  t.after(() => handler.close());
  async function finish(tasks: number): Promise<void> {
    for (let done = 0; done < tasks; done += 100) {
      const batch = Array.from({ length: 100 }, () => message('task 4 16 burst'));
      await Promise.all(batch.map((params) => handler.sendMessage(params)));
    }
  }
  await finish(2000);
  const before = await held();
  await finish(20_000);
  const grown = ((await held()) - before) / 1024 / 1024;
  assert.equal((await handler.listTasks({ pageSize: 1 })).totalSize, 22_000);
  assert.ok(grown < 1, `the heap grew by ${grown.toFixed(1)} MiB`);
});
