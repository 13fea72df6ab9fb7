import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXTENSION_URI } from '../../protocol/development-tool/index.ts';
import { requirePromptRoles, requireSettingRoles, rolesOf } from './roles.ts';

const user = (...roles: string[]) => ({ id: '', name: 'phone', roles });

test('a client that may not approve cannot approve all calls with autoExecute', () => {
  const auto = { [EXTENSION_URI]: { autoExecute: true } };
  const forbidden = { kind: 'forbidden' };
  assert.throws(() => requirePromptRoles(auto, user('view', 'prompt')), forbidden);
  assert.throws(() => requireSettingRoles(auto, user('view', 'prompt')), forbidden);
  assert.throws(() => requirePromptRoles(auto, user('view', 'approve')), forbidden);
  requirePromptRoles(auto, user('view', 'prompt', 'approve'));
  requirePromptRoles(undefined, user('view', 'prompt'));
});

test('a user without declared roles has all roles, and one with unknown roles may only view', () => {
  assert.deepEqual(rolesOf(undefined), ['view', 'prompt', 'approve']);
  assert.deepEqual(rolesOf({ id: 'ann' }), ['view', 'prompt', 'approve']);
  assert.deepEqual(rolesOf(user()), ['view']);
  assert.deepEqual(rolesOf(user('admin')), ['view']);
});
