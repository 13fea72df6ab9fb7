import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXTENSION_URI } from '../../protocol/development-tool/index.ts';
import type { Message } from '../../protocol/index.ts';
import { clientName } from './client-name.ts';

function message(client: unknown): Message {
  const metadata = { [EXTENSION_URI]: { client } };
  return { kind: 'message', messageId: 'm', role: 'user', parts: [], metadata };
}

test('the name of the user comes before the name in the message', () => {
  assert.equal(clientName({ id: 'u', name: 'phone' }, message('bot')), 'phone');
  assert.equal(clientName({ id: 'u' }, message('bot')), 'bot');
  assert.equal(clientName(undefined, message(7)), '');
  assert.equal(clientName(undefined, undefined), '');
});

test('a name has one line, no control characters, and at most 80 characters', () => {
  assert.equal(clientName(undefined, message('a\u001B[31m\nb\u202E')), 'a [31m b');
  assert.equal(clientName(undefined, message('x'.repeat(79) + '😀')), 'x'.repeat(79));
});
