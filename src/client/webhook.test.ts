import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v1, v03, type Task } from '../protocol/index.ts';
import { readNotification } from './webhook.ts';

const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } };

function notification(body: unknown, headers: Record<string, string> = {}): Request {
  return new Request('http://me.test/hook', {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

test('a notification of either version is read', async () => {
  for (const codec of [v03, v1]) {
    const event = await readNotification(notification(codec.encodeEvent(task)), {});
    assert.equal(event.kind === 'task' && event.status.state, 'completed');
  }
});

test('a notification with another token, or none, is refused before it is read', async () => {
  const options = { token: 'right' };
  for (const token of ['wrong', 'righ', 'right!', '']) {
    const request = notification('not even JSON', { 'x-a2a-notification-token': token });
    await assert.rejects(readNotification(request, options), { kind: 'unauthenticated' });
  }
  const request = notification(task, { 'X-A2A-Notification-Token': 'right' });
  assert.equal((await readNotification(request, options)).kind, 'task');
});

test('the credentials of a notification are checked', async () => {
  const options = { authorization: 'Bearer abc' };
  const good = notification(task, { authorization: 'Bearer abc' });
  assert.equal((await readNotification(good, options)).kind, 'task');
  const bad = notification(task, { authorization: 'Basic abc' });
  await assert.rejects(readNotification(bad, options), { kind: 'unauthenticated' });
});

test('what is no notification, or too large, is refused', async () => {
  const bad = { kind: 'invalidAgentResponse' };
  await assert.rejects(readNotification(notification('<html>'), {}), bad);
  await assert.rejects(readNotification(notification({ hello: 1 }), {}), bad);
  await assert.rejects(readNotification(notification(task), { maxBytes: 10 }), bad);
});

test('an empty token or authorization is an error of the receiver, and the request is not read', async () => {
  for (const options of [{ token: '' }, { authorization: '' }]) {
    const request = notification(v1.encodeEvent(task));
    await assert.rejects(readNotification(request, options), {
      name: 'TypeError',
      message: /^`\w+` is an empty string, so anybody could send notifications/,
    });
    assert.equal(request.bodyUsed, false);
  }
});
