import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Content, ContentPart } from '../content.ts';
import { createEvent, type Event, type EventFields } from '../event.ts';
import { historyOf, type HistoryOptions } from './history.ts';

const options: HistoryOptions = {
  agent: 'me',
  runId: 'now',
  branch: undefined,
  include: 'default',
  model: 'm',
};

function event(
  author: string,
  parts: ContentPart[],
  fields: EventFields & { runId?: string } = {},
): Event {
  const { runId = 'now', ...rest } = fields;
  const role: Content['role'] =
    author === 'user' || parts[0]?.kind === 'function-response' ? 'user' : 'model';
  return createEvent(
    { runId, author },
    { content: { role, parts }, metadata: { model: 'm' }, ...rest },
  );
}

const text = (words: string): ContentPart => ({ kind: 'text', text: words });
const call = (id: string): ContentPart => ({ kind: 'function-call', id, name: 'f', args: {} });
const response = (id: string): ContentPart => ({
  kind: 'function-response',
  id,
  name: 'f',
  response: id,
});

/** One line for each content: who, and what. */
function lines(events: readonly Event[], more: Partial<HistoryOptions> = {}): string[] {
  return historyOf(events, { ...options, ...more }).map(({ role, parts }) => {
    const words = parts.map((part) => {
      if (part.kind === 'text' || part.kind === 'thought') return part.text;
      return 'id' in part ? `${part.kind}(${part.id})` : part.kind;
    });
    return `${role}: ${words.join(' + ')}`;
  });
}

test('responses are put behind their calls, in the order of the calls, and made one', () => {
  const events = [
    event('user', [text('hi')]),
    event('me', [call('1'), call('2')]),
    event('me', [response('2')]),
    event('me', [response('1')]),
    event('me', [text('done')]),
  ];
  assert.deepEqual(lines(events), [
    'user: hi',
    'model: function-call(1) + function-call(2)',
    'user: function-response(1) + function-response(2)',
    'model: done',
  ]);
});

test('a response that came after other things were said is put behind its call', () => {
  const events = [
    event('user', [text('hi')], { runId: 'old' }),
    event('me', [call('1')], { runId: 'old' }),
    event('user', [text('meanwhile')]),
    event('me', [text('yes')]),
    event('me', [response('1')], { runId: 'old' }),
  ];
  assert.deepEqual(lines(events), [
    'user: hi',
    'model: function-call(1)',
    'user: function-response(1) + meanwhile',
    'model: yes',
  ]);
});

test('a call of another run without a response gets one that says so; a response without a call is left out', () => {
  const events = [
    event('user', [text('hi')], { runId: 'old' }),
    event('me', [text('let me see'), call('1'), call('2')], { runId: 'old' }),
    event('me', [response('2')], { runId: 'old' }),
    event('me', [response('3')], { runId: 'old' }),
    event('me', [call('4')], { runId: 'other' }),
    event('user', [text('well?')]),
  ];
  assert.deepEqual(lines(events), [
    'user: hi',
    'model: let me see + function-call(1) + function-call(2)',
    'user: function-response(1) + function-response(2)',
    'model: function-call(4)',
    'user: function-response(4) + well?',
  ]);
});

test('what other agents said and did is told, and never taken for the own', () => {
  const events = [
    event('user', [text('hi')]),
    event('other', [{ kind: 'thought', text: 'hm' }, call('1')]),
    event('other', [response('1')]),
    event('other', [text('found it')]),
  ];
  assert.deepEqual(lines(events), [
    'user: hi + [other] called f with {} + [other] got from f: "1" + [other] said: found it',
  ]);
});

test('thoughts stay while the turn lasts, and with the model that thought them', () => {
  const thought: ContentPart = { kind: 'thought', text: 'hm' };
  const events = [
    event('user', [text('hi')], { runId: 'old' }),
    event('me', [thought, text('old answer')], { runId: 'old' }),
    event('user', [text('go')]),
    event('me', [thought, text('new answer')]),
  ];
  assert.deepEqual(lines(events), [
    'user: hi',
    'model: old answer',
    'user: go',
    'model: hm + new answer',
  ]);
  assert.deepEqual(lines(events, { model: 'another' }).at(-1), 'model: new answer');
});

test("what a vendor put beside a part goes back to the same vendor's model only", () => {
  const events = [event('me', [{ kind: 'text', text: 'x', provider: { signature: 's' } }])];
  assert.match(JSON.stringify(historyOf(events, options)), /signature/);
  assert.doesNotMatch(
    JSON.stringify(historyOf(events, { ...options, model: 'another' })),
    /signature/,
  );
});

test('an agent that wants no contents sees what was said to it last, and what it did about it', () => {
  const events = [
    event('user', [text('long ago')], { runId: 'old' }),
    event('user', [text('hi')]),
    event('me', [text('first draft')]),
    event('critic', [text('too long')]),
    event('me', [call('1')]),
    event('me', [response('1')]),
  ];
  assert.deepEqual(lines(events, { include: 'none' }), [
    'user: [critic] said: too long',
    'model: function-call(1)',
    'user: function-response(1)',
  ]);
});

function compacted(
  upTo: Event,
  lastRead: Event,
  fields: EventFields & { runId?: string } = {},
): Event {
  const { runId = 'now', ...rest } = fields;
  return createEvent(
    { runId, author: 'me' },
    {
      actions: { compaction: { upTo: upTo.id, summary: 'S' } },
      metadata: { lastRead: lastRead.id },
      ...rest,
    },
  );
}

test('a summary stands for what it covers, and the latest one counts', () => {
  const one = event('user', [text('one')]);
  const two = event('me', [text('two')]);
  const three = event('user', [text('three')]);
  assert.deepEqual(lines([one, two, three, compacted(one, three), compacted(two, three)]), [
    'user: Summary of the conversation so far:\nS + three',
  ]);
});

test('what other runs said meanwhile is not lost to a summary that does not know of it', () => {
  const one = event('user', [text('one')]);
  const other = event('user', [text('meanwhile')], { runId: 'other' });
  const two = event('me', [text('two')]);
  assert.deepEqual(lines([one, other, two, compacted(two, one)]), [
    'user: Summary of the conversation so far:\nS + meanwhile',
  ]);
});

test('a summary of one branch does not count outside of it', () => {
  const one = event('user', [text('one')]);
  const left = event('me', [text('left')], { branch: 'team.left' });
  const events = [one, left, compacted(left, one, { branch: 'team.left' })];
  assert.deepEqual(lines(events), ['user: one', 'model: left']);
  assert.deepEqual(lines(events, { branch: 'team.left' }), [
    'user: Summary of the conversation so far:\nS',
  ]);
});

test('calls of one id, of runs that went on at the same time, have different ids for the model', () => {
  const events = ['before', 'beside', 'now'].flatMap((runId) => [
    event('user', [text(runId)], { runId }),
    event('me', [call('1')], { runId }),
    event('me', [response('1')], { runId }),
  ]);
  const ids = historyOf(events, options).flatMap(({ parts }) =>
    parts.flatMap((part) => ('id' in part ? [part.id] : [])),
  );
  assert.equal(ids.length, 6);
  const calls = ids.filter((_, at) => at % 2 === 0);
  const responses = ids.filter((_, at) => at % 2 === 1);
  assert.deepEqual(responses, calls, 'each response has the id of its call');
  assert.equal(new Set(calls).size, 3);
  assert.equal(calls[2], '1', 'the run that looks knows its own');
});
