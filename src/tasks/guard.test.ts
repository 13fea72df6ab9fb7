import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError, OPERATIONS } from '../protocol/index.ts';
import { callWith, guardHandler, hidePushSecrets } from './guard.ts';
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

test('the secrets of webhooks are hidden from some callers, and all operations are kept', async () => {
  const authentication = { schemes: ['Bearer'], credentials: 's3cret' };
  const pushNotificationConfig = { url: 'https://a.test', token: 's3cret', authentication };
  const webhook = { taskId: 't', pushNotificationConfig };
  const bare = {
    taskId: 't',
    pushNotificationConfig: { url: 'https://a.test', authentication: { schemes: ['Bearer'] } },
  };
  const hiding = hidePushSecrets(
    { ...handler, getPushConfig: async () => webhook, listPushConfigs: async () => [webhook] },
    ({ user }) => user?.id === 'guest',
  );
  const [ann, guest] = [{ user: { id: 'ann' } }, { user: { id: 'guest' } }];
  assert.deepEqual(await hiding.getPushConfig({ id: 't' }, ann), webhook);
  assert.deepEqual(await hiding.listPushConfigs({ id: 't' }, ann), [webhook]);
  assert.deepEqual(await hiding.getPushConfig({ id: 't' }, guest), bare);
  assert.deepEqual(await hiding.listPushConfigs({ id: 't' }, guest), [bare]);
  assert.deepEqual(Object.keys(hiding).toSorted(), Object.keys(handler).toSorted());
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
