import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentPart } from '../../agent/content.ts';
import { createEvent, type Event, type EventFields } from '../../agent/event.ts';
import { unseen } from './outgoing.ts';

function said(author: string, text: string, fields: EventFields = {}): Event {
  const parts: ContentPart[] = [{ kind: 'text', text }];
  const role = author === 'user' ? 'user' : 'model';
  return createEvent({ runId: 'r', author }, { content: { role, parts }, ...fields });
}

/** An event of the remote's own, which had heard everything up to `seen`. */
function own(seen: Event | undefined, fields: EventFields = {}): Event {
  const a2a = { state: 'completed', ...(seen && { seen: seen.id }) };
  return said('remote', 'mine', { metadata: { a2a }, ...fields });
}

function words(events: readonly Event[]): string[] {
  return unseen(events, 'remote').parts.map((part) =>
    part.kind === 'text' ? part.text : part.kind,
  );
}

test('the first time, everything is told', () => {
  assert.deepEqual(words([said('user', 'Hello'), said('other', 'Hi')]), [
    'Hello',
    '\n\n[other] said: Hi',
  ]);
});

test('later, only what came since, and never its own words', () => {
  const first = said('user', 'one');
  assert.deepEqual(words([first, own(first), said('user', 'two')]), ['two']);
});

test('what it was not told because it could not be reached is told later', () => {
  const failed = createEvent(
    { runId: 'r', author: 'remote' },
    { error: { code: 'x', message: '' } },
  );
  assert.deepEqual(words([said('user', 'one'), failed, said('user', 'two')]), ['one', '\n\ntwo']);
});

test('what was said beside it in another branch it has not heard, though it was said before', () => {
  const first = said('user', 'one');
  const beside = said('left', 'L', { branch: 'team.left' });
  const answer = said('user', 'two');
  const mine = own(answer, { branch: 'team.right' });
  assert.deepEqual(words([first, beside, answer, mine]), ['[left] said: L']);
});

test('what was said above its branch it has heard', () => {
  const first = said('user', 'one');
  const above = said('planner', 'P', { branch: 'team' });
  assert.deepEqual(words([first, above, own(above, { branch: 'team.right' })]), []);
});

test('what parallel agents below it have said is not sent again', () => {
  const nested = said('left', 'L', { branch: 'team.left' });
  assert.deepEqual(words([nested, own(nested)]), []);
});

test('calls, responses, thoughts, errors, partial events and empty texts stay here', () => {
  const parts: ContentPart[] = [
    { kind: 'thought', text: 'secret' },
    { kind: 'function-call', id: '1', name: 'key', args: {} },
    { kind: 'function-response', id: '1', name: 'key', response: 'secret' },
    { kind: 'text', text: '' },
    { kind: 'text', text: 'spoken', provider: { signature: 'secret' } },
    { kind: 'blob', mediaType: 'text/plain', data: 'aGk=' },
    { kind: 'data', data: { a: 1 } },
  ];
  const events = [
    createEvent({ runId: 'r', author: 'other' }, { content: { role: 'model', parts } }),
    said('other', 'half', { partial: true }),
    said('other', 'broken', { error: { code: 'x', message: 'secret' } }),
  ];
  const sent = unseen(events, 'remote').parts;
  const metadata = { 'parley.context': { author: 'other' } };
  assert.deepEqual(sent, [
    { kind: 'text', text: '[other] said: spoken', metadata },
    { kind: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain' }, metadata },
    { kind: 'data', data: { a: 1 }, metadata },
  ]);
});

test('of a conversation that is too long the end is told, and that there was more', () => {
  const long = Array.from({ length: 20 }, (_, n) => said('other', `${n} ${'x'.repeat(100_000)}`));
  const sent = words([...long, said('user', 'last')]);
  assert.match(sent[0]!, /omitted/);
  assert.equal(sent.at(-1), '\n\nlast');
  assert.ok(sent.join('').length < 1.2e6);
});

test('the last words are told however long they are', () => {
  const [only] = words([said('user', 'old'), said('user', 'x'.repeat(3e6))]).slice(-1);
  assert.equal(only?.trim().length, 3e6);
});

test('a peer that takes all texts for one can tell the turns apart', () => {
  const parts = ['first', 'second'].map((text): ContentPart => ({ kind: 'text', text }));
  const both = createEvent({ runId: 'r', author: 'other' }, { content: { role: 'model', parts } });
  const told = words([said('user', 'Hello'), both, said('user', 'And?')]).join('');
  assert.equal(told, 'Hello\n\n[other] said: first\n\n[other] said: second\n\nAnd?');
});
