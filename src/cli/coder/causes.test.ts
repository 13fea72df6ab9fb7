import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Logger } from '../../tasks/index.ts';
import { causeIn, rememberCauses } from './causes.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

test('the reason for an error is remembered by its correlation id, in one line', () => {
  const { log, causeOf } = rememberCauses(silent);
  log.error({ correlationId: 'c1', problem: 'the model said:\n  no\n' }, 'a turn failed');
  log.error({ correlationId: 'c2', err: new Error('lost\nconnection') }, 'a task failed');
  assert.equal(causeOf('c1'), 'the model said: no');
  assert.equal(causeOf('c2'), 'lost connection');
  assert.equal(causeOf('c3'), undefined);
  assert.equal(causeIn({ taskId: 't1' }), undefined);
});
