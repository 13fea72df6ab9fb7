import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ENTRIES, removalPlan } from './removal-plan.ts';

/** Returns the plan for tasks with these lengths. By default, their status is in the last entry. */
function plan(lengths: readonly (number | undefined)[], statusSeq?: number) {
  return removalPlan(
    lengths.map((_, index) => ({ taskId: String(index) })),
    (taskId) => {
      const seq = lengths[Number(taskId)];
      return seq === undefined ? undefined : { taskId, seq, statusSeq: statusSeq ?? seq };
    },
  );
}

test('tasks are removed as long as their entries fit into one removal', () => {
  const { whole, part, done } = plan([MAX_ENTRIES - 10, 10, 1, 1]);
  assert.deepEqual([whole.map(({ taskId }) => taskId), part, done], [['0', '1'], undefined, 2]);
});

test('tasks that are not found are done', () => {
  assert.deepEqual(plan([undefined, undefined]), { whole: [], done: 2 });
  const { whole, done } = plan([undefined, MAX_ENTRIES, undefined, 1]);
  assert.deepEqual([whole.length, done], [1, 3]);
});

test('only the first task is removed in part', () => {
  assert.deepEqual(plan([1, MAX_ENTRIES + 1]).part, undefined);
  const { whole, part, done } = plan([MAX_ENTRIES + 1, 1]);
  assert.deepEqual([whole, part?.task.taskId, part?.after, done], [[], '0', 1, 0]);
});

test('the first part of a large task contains the entry with its status', () => {
  assert.equal(plan([3 * MAX_ENTRIES], 10).part?.after, 9);
  assert.equal(plan([3 * MAX_ENTRIES], 1).part?.after, 0);
});
