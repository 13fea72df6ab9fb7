import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { registerPath } from './register-path.ts';

test('the register lies beside its store, under a name of its own', () => {
  const folder = path.join('/data', 'my.folder');
  const beside = (name: string) => path.relative(folder, registerPath(path.join(folder, name)));
  assert.equal(beside('gateway.db'), 'gateway.register.db');
  assert.equal(beside('tasks.sqlite'), 'tasks.register.sqlite');
  assert.equal(beside('store'), 'store.register.db');
  assert.equal(registerPath('gateway.db'), 'gateway.register.db');
});
