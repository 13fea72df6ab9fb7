import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Part } from '../../protocol/index.ts';
import { RemoteTaskGuard } from './guard.ts';
import { remoteLimits } from './limits.ts';

const nobody = { taskId: undefined, contextId: undefined };
const text = (length: number): Part => ({ kind: 'text', text: 'x'.repeat(length) });
const limited = { code: 'remote-limit' };

test('a remote agent may send exactly as much as each limit says, and not one more', () => {
  const limits = remoteLimits({
    maxEvents: 3,
    maxParts: 2,
    maxPartLength: 10,
    maxContentLength: 25,
    maxArtifacts: 4,
  });
  const guard = new RemoteTaskGuard(limits, nobody);
  for (let event = 1; event <= 3; event++) guard.event();
  assert.throws(() => guard.event(), limited);
  guard.artifacts(4);
  assert.throws(() => guard.artifacts(5), limited);
  guard.parts([text(10), text(10)]);
  assert.throws(() => guard.parts([text(0), text(0), text(0)]), limited);
  assert.throws(() => guard.parts([text(11)]), limited);
  // A repetition is not counted again.
  guard.parts([text(10)], false);
  guard.parts([text(5)]);
  assert.throws(() => guard.parts([text(1)]), limited);
});

test('a remote agent cannot change its task or its conversation, once they are known', () => {
  const guard = new RemoteTaskGuard(remoteLimits(), nobody);
  guard.task('t1', 'c1');
  guard.task('t1', '');
  const invalid = { code: 'remote-invalid' };
  assert.throws(() => guard.task('t2', 'c1'), invalid);
  assert.throws(() => guard.task(undefined, 'c1'), invalid);
  assert.throws(() => guard.task('t1', 'c2'), invalid);
  assert.deepEqual([guard.taskId, guard.contextId], ['t1', 'c1']);
});
