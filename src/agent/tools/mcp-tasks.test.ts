import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { callAsTask } from './mcp-tasks.ts';

test('the request for the result of a task has only the time that is left for the call', async () => {
  const timeouts = new Map<string, number>();
  const task = { taskId: 't', ttl: null, createdAt: '', lastUpdatedAt: '', pollInterval: 100 };
  const results: Readonly<Record<string, unknown>> = {
    'tools/call': { task: { ...task, status: 'working' } },
    'tasks/get': { ...task, status: 'completed' },
    'tasks/result': { content: [] },
  };
  const client = new Client({ name: 'test', version: '1' });
  Object.defineProperty(client, 'request', {
    async value({ method }: { method: string }, _schema: unknown, options: { timeout: number }) {
      timeouts.set(method, options.timeout);
      return results[method];
    },
  });
  const { signal } = new AbortController();
  const call = { signal, onProgress: () => {}, begun: () => {} };
  await callAsTask(client, { name: 'slow', args: {}, signal, timeout: 5_000 }, call);
  assert.ok(timeouts.get('tasks/result')! <= 4_905, `${timeouts.get('tasks/result')} ms`);
});

test('a task is canceled if its result is late, even if the timer fires a little early', async (t) => {
  let time = 1000.5;
  t.mock.method(performance, 'now', () => time);
  const task = { taskId: 't', ttl: null, createdAt: '', lastUpdatedAt: '' };
  const asked: string[] = [];
  const client = new Client({ name: 'test', version: '1' });
  Object.defineProperty(client, 'request', {
    async value({ method }: { method: string }, _schema: unknown, options: { timeout: number }) {
      asked.push(method);
      if (method === 'tools/call') return { task: { ...task, status: 'input_required' } };
      // Timers count whole milliseconds, so they may fire almost one millisecond early.
      time += options.timeout - 0.9;
      throw new Error('timeout');
    },
  });
  const { signal } = new AbortController();
  const call = { signal, onProgress: () => {}, begun: () => {} };
  const late = callAsTask(client, { name: 'slow', args: {}, signal, timeout: 5_000 }, call);
  await assert.rejects(late, /timeout/);
  assert.deepEqual(asked, ['tools/call', 'tasks/result', 'tasks/cancel']);
});
