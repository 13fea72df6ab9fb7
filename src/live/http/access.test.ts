import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METHODS, OPERATIONS, type Operation } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import { guardRoles } from './access.ts';

const viewer = { user: { id: '', name: 'viewer', roles: ['view'] } };
const message = { kind: 'message', messageId: 'm', role: 'user', parts: [] };

/** Returns the name of any operation, including unknown ones. */
const handler = new Proxy({} as RequestHandler, {
  get: (_target, operation) => async () => operation,
});

function call(operation: Operation): Promise<unknown> {
  const guarded = guardRoles(handler);
  const run = guarded[operation] as (params: object, call: object) => Promise<unknown>;
  return run({ message }, viewer);
}

for (const operation of OPERATIONS) {
  const { access } = METHODS[operation];
  test(`a client that may only view ${access === 'read' ? 'may' : 'may not'} ${operation}`, async () => {
    if (access === 'read') assert.equal(await call(operation), operation);
    else await assert.rejects(call(operation), { kind: 'forbidden' });
  });
}

test('an operation that is not in the table does not exist', () => {
  assert.equal(typeof Reflect.get(handler, 'purgeTasks'), 'function');
  assert.equal(Reflect.get(guardRoles(handler), 'purgeTasks'), undefined);
});
