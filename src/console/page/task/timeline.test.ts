import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogEntry, TaskEvent, TaskState } from '../../../protocol/index.ts';
import { timeIn, timelineOf } from './timeline.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const ids = { taskId: 't', contextId: 'c' };

function update(seconds: number, state: TaskState, data?: Record<string, unknown>): TaskEvent {
  const parts = data && [{ kind: 'data' as const, data }];
  const role = data && 'selected_option_id' in data ? ('user' as const) : ('agent' as const);
  const message = parts && { kind: 'message' as const, messageId: `m${seconds}`, role, parts };
  const status = { state, timestamp: at(seconds), ...(message && { message }) };
  return { kind: 'status-update', ...ids, status, final: false };
}

function logOf(...events: TaskEvent[]): LogEntry[] {
  const status = { state: 'submitted' as const, timestamp: at(0) };
  const task: TaskEvent = { kind: 'task', id: 't', contextId: 'c', status };
  return [task, ...events].map((event, index) => ({ seq: index + 1, event }));
}

const call = (status: string, more: object = {}) => ({
  tool_call_id: 'call-1',
  tool_name: 'write_file',
  input_parameters: {},
  status,
  ...more,
});
const asks = {
  confirmation_request: {
    options: [{ id: 'proceed_once', name: 'Allow once' }],
    generic_details: { description: 'Write a file' },
  },
};

test('the timeline of an earlier state ends with its last event', () => {
  const log = logOf(update(1, 'working'));
  const past = timelineOf(log, undefined);
  assert.equal(past && past.to - past.from, 1000);
  const current = timelineOf(log, Date.parse(at(60)));
  assert.equal(current && current.to - current.from, 60_000);
});

test('the time that a call waits for a person is apart from the time that it works', () => {
  const log = logOf(
    update(1, 'working'),
    update(3, 'input-required', call('PENDING', asks)),
    update(63, 'working', { tool_call_id: 'call-1', selected_option_id: 'proceed_once' }),
    update(64, 'working', call('EXECUTING')),
    update(66, 'working', call('SUCCEEDED', { output: { text: 'done' } })),
    update(70, 'completed'),
  );
  const timeline = timelineOf(log, Date.parse(at(1000)));
  assert.ok(timeline);
  assert.equal(timeline.to - timeline.from, 70_000);
  assert.equal(timeIn(timeline.spans, 'person'), 60_000);
  assert.equal(timeIn(timeline.spans, 'work'), 9000);
  assert.equal(timeIn(timeline.spans, 'queue'), 1000);
  const [timed] = timeline.calls;
  assert.deepEqual(
    timed?.spans.map(({ kind, from, to }) => [kind, to - from]),
    [
      ['person', 60_000],
      ['queue', 1000],
      ['work', 2000],
    ],
  );
});

test('an unfinished task lasts until now, a finished one until its end, and a clock that was set back adds nothing', () => {
  const running = logOf(update(2, 'working'), update(1, 'working', call('EXECUTING')));
  const timeline = timelineOf(running, Date.parse(at(10)));
  assert.equal(timeline && timeline.to - timeline.from, 10_000);
  assert.deepEqual(timeline?.calls[0]?.spans.length, 1);
  const failed = logOf(update(2, 'working', call('EXECUTING')), update(5, 'failed'));
  const ended = timelineOf(failed, Date.parse(at(10)));
  assert.equal(ended && ended.to - ended.from, 5000);
  assert.equal(timeIn(ended?.calls[0]?.spans ?? [], 'work'), 3000);
});
