import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError, OPERATIONS } from '../protocol/index.ts';
import { callWith, guardHandler } from './guard.ts';
import { createHandler, type RequestHandler } from './handler.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const handler = createHandler({ async *execute() {} }, { logger });
const WRITING = new Set([
  'sendMessage',
  'streamMessage',
  'cancelTask',
  'setPushConfig',
  'deletePushConfig',
  'reserveTask',
]);

function call(guarded: RequestHandler, operation: string): Promise<unknown> {
  const run = Reflect.get(guarded, operation) as (params: object) => Promise<unknown>;
  return run({});
}

test('every operation is refused before it runs, as a read or a write', async () => {
  const asked: string[] = [];
  const guarded = guardHandler(handler, ({ access }) => {
    asked.push(access);
    throw new A2AError('forbidden');
  });
  const operations = [...OPERATIONS, 'reserveTask', 'readLog'];
  for (const operation of operations) {
    await assert.rejects(call(guarded, operation), { kind: 'forbidden' }, operation);
  }
  assert.deepEqual(
    asked,
    operations.map((operation) => (WRITING.has(operation) ? 'write' : 'read')),
  );
});

test('an operation that the table does not know cannot be reached through a guard', () => {
  const newer = { ...handler, purgeTasks: async () => 'purged' };
  const guarded = guardHandler(newer, () => {});
  assert.equal('purgeTasks' in guarded, false);
  assert.deepEqual(Object.keys(guarded).toSorted(), Object.keys(handler).toSorted());
});

test('a call with another user still has the properties that are computed on demand', () => {
  const { signal } = new AbortController();
  class Request {
    readonly user = { id: 'ann' };
    readonly version = '1.0';
    get signal() {
      return signal;
    }
    get base() {
      return 'http://localhost:1';
    }
    get traceparent() {
      return 'parent';
    }
  }
  const changed = callWith(new Request(), { user: { id: 'bob' } });
  assert.deepEqual(
    { ...changed },
    {
      user: { id: 'bob' },
      extensions: undefined,
      version: '1.0',
      headers: undefined,
      signal,
      base: 'http://localhost:1',
      traceparent: 'parent',
    },
  );
});
