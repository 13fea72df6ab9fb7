import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameOfEvent } from './event-name.ts';

const named = (event: unknown) => nameOfEvent(JSON.stringify(event));

test('an event is described by its kind, and its state or the parts of its artifact', () => {
  const status = { state: 'working' };
  assert.equal(named({ result: { kind: 'status-update', status } }), 'status-update working');
  assert.equal(named({ statusUpdate: { status } }), 'statusUpdate working');
  assert.equal(
    named({ result: { artifactUpdate: { artifact: { parts: [{ text: 'a' }] } } } }),
    'artifactUpdate [{"text":"a"}]',
  );
  assert.equal(nameOfEvent('not JSON'), 'not JSON');
  assert.equal(nameOfEvent('x'.repeat(1000)).length, 160);
});

test('a JSON-RPC error in a stream is described as an error', () => {
  const error = { code: -32_001, message: 'Task not found' };
  assert.equal(named({ jsonrpc: '2.0', id: 1, error }), 'error -32001 Task not found');
  assert.equal(named({ jsonrpc: '2.0', id: 1, error: { code: -32_603 } }), 'error -32603 ');
});
