import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createHandler } from '../handler.ts';
import type { StreamSink } from '../log/task-stream.ts';
import { createAgent } from './agent.ts';
import type { AgentExecutor } from './executor.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const sink: StreamSink = { take: () => true, end() {} };

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** Returns the memory in bytes of a task that waits, together with its execution and one stream. */
async function bytesPerTask(executor: AgentExecutor): Promise<number> {
  const handler = createHandler(executor, { logger, limits: { graceMs: 10 } });
  let serial = 0;
  const hold = async (count: number) => {
    for (let left = count; left > 0; left--) {
      const messageId = `held-${serial++}`;
      const parts = [{ kind: 'text' as const, text: 'hold' }];
      const message = { kind: 'message' as const, messageId, role: 'user' as const, parts };
      (await handler.streamMessage({ message })).pipe(sink);
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  const used = () => {
    gc();
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  await hold(500);
  const before = used();
  await hold(1500);
  const bytes = (used() - before) / 1500;
  assert.equal(handler.running, 2000);
  await handler.close();
  return bytes;
}

test('a task that waits needs little memory', async () => {
  const executor: AgentExecutor = {
    async *execute({ signal }) {
      yield { kind: 'status-update', state: 'working' };
      await aborted(signal);
    },
  };
  const bytes = await bytesPerTask(executor);
  assert.ok(bytes < 3700, `${bytes} bytes`);
});

test('a task of an agent function that waits needs little memory', async () => {
  const agent = createAgent({ name: 'Hold', description: 'Waits' }, async function* ({ signal }) {
    yield 'a';
    await aborted(signal);
  });
  const bytes = await bytesPerTask(agent);
  assert.ok(bytes < 6900, `${bytes} bytes`);
});
