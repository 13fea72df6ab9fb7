import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Caller } from './caller.ts';
import { checkScope } from './guard.ts';

function callOf(scopes: readonly string[], agent?: string) {
  return { user: new Caller({ workspace: 'w', actor: 'key:k', scopes: new Set(scopes), agent }) };
}

test('the card is read without a scope, and no scope allows a write', () => {
  checkScope({ access: 'read', on: 'card' }, {}, callOf([]));
  const write = () => checkScope({ access: 'write', on: 'card' }, {}, callOf(['*']));
  assert.throws(write, { kind: 'forbidden' });
});

test('tasks are read and written with their scopes', () => {
  const reader = callOf(['tasks:read']);
  checkScope({ access: 'read', on: 'task' }, {}, reader);
  assert.throws(() => checkScope({ access: 'write', on: 'task' }, {}, reader), {
    kind: 'forbidden',
  });
  checkScope({ access: 'write', on: 'task' }, {}, callOf(['tasks:write']));
});
