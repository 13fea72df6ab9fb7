// The page cannot import the gateway, so it has copies of some of its constants.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BudgetPeriod, NEW_KEY_SCOPES } from '../../src/console/page/gateway/api.ts';
import { DEFAULT_SCOPES } from '../../src/gateway/index.ts';
import { BUDGET_PERIODS } from '../../src/gateway/keys/index.ts';

test('the form of a new key has the same periods and default scopes as the gateway', () => {
  assert.deepEqual(BudgetPeriod.options, [...BUDGET_PERIODS]);
  assert.deepEqual(NEW_KEY_SCOPES, [...DEFAULT_SCOPES]);
});
