/** A conversation whose earlier tasks are too large for a snapshot. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Message, Task } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import type { Place } from '../coder/support.ts';
import type { OpenOptions } from './support.ts';

const CONTEXT = 'c1';

/** A task that was canceled, with this number of messages of this length. */
function canceled(id: string, messages: number, length: number): Task {
  const history = Array.from({ length: messages }, (_, at): Message => {
    const text = `${id} ${at} `.padEnd(length, 'x');
    return {
      kind: 'message',
      messageId: `${id}-${at}`,
      role: 'user',
      parts: [{ kind: 'text', text }],
    };
  });
  const status = { state: 'canceled', timestamp: '2026-01-01T00:00:00.000Z' } as const;
  return { kind: 'task', id, contextId: CONTEXT, status, history };
}

/** Returns the options for a session that continues such a conversation: a small task, and then a large one. */
export function withLargeTasks(place: Place): OpenOptions {
  const store = sqliteStore(join(place.home, 'earlier.db'));
  const tasks = [canceled('old', 3, 10), canceled('large', 6, 1_000_000)];
  for (const event of tasks) {
    const entries = [{ seq: 1, event }];
    const task = { tenant: '', owner: '', taskId: event.id, contextId: CONTEXT };
    assert.deepEqual(store.append([{ ...task, expected: 0, entries }]), ['ok']);
  }
  const former = tasks.map(({ id }) => id);
  return { place, server: { store }, continues: { contextId: CONTEXT, former } };
}
