import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { conversationOf, eventBefore } from './conversation.ts';
import { createEvent, type Event, type EventFields } from '../event.ts';
import { historyOf } from './history.ts';

/** `a1` is an event of the run a. */
function event(id: string, fields: EventFields = {}): Event {
  return { ...createEvent({ runId: id[0]!, author: 'user' }, fields), id };
}

const rewind = (id: string, to: string | null): Event => event(id, { actions: { rewind: { to } } });
const aside = (id: string, fields: EventFields = {}): Event =>
  event(id, { aside: true, ...fields });
const ids = (events: readonly Event[]): string => events.map(({ id }) => id).join(' ');

test('an aside is no part of the conversation, nor is what its run did', () => {
  const events = [event('a1'), aside('c1'), event('c2'), event('b1')];
  assert.equal(ids(conversationOf(events)), 'a1 b1');
});

test('a rewind goes back to an event, and the conversation goes on from there', () => {
  const events = [event('a1'), event('a2'), event('a3'), aside('c1'), rewind('c2', 'a2')];
  assert.equal(ids(conversationOf(events)), 'a1 a2');
  assert.equal(ids(conversationOf([...events, event('b1')])), 'a1 a2 b1');
});

test('after a rewind that cancels the open request, the model is told so', () => {
  const asked = event('a1', {
    content: { role: 'user', parts: [{ kind: 'text', text: 'write' }] },
  });
  const back = event('c2', { actions: { rewind: { to: 'a1', cancels: true } } });
  const conversation = conversationOf([asked, event('a2'), aside('c1'), back, event('c3')]);
  assert.equal(ids(conversation), 'a1 c2');
  const told = conversation[1]?.content?.parts;
  assert.deepEqual(told, [{ kind: 'text', text: '[The user canceled this request.]' }]);
});

test('a run may cancel and rewind to its own event, and a later rewind finds each event', () => {
  const back = event('a3', { actions: { rewind: { to: 'a2', cancels: true } } });
  const events = [event('a1'), event('a2'), back, event('a4')];
  assert.equal(ids(conversationOf(events)), 'a1 a2 a3.canceled a3 a4');
  assert.equal(eventBefore(events, 'a3'), 'a3.canceled');
  const later = (to: string) => ids(conversationOf([...events, aside('c1'), rewind('c2', to)]));
  assert.equal(later('a3'), 'a1 a2 a3.canceled a3');
  assert.equal(later('a3.canceled'), 'a1 a2 a3.canceled');
});

test('a rewind to nothing begins anew', () => {
  const events = [event('a1'), aside('c1'), rewind('c2', null), event('b1')];
  assert.equal(ids(conversationOf(events)), 'b1');
});

test('a rewind brings back what another one left out', () => {
  const back = [aside('c1'), rewind('c2', 'a1'), event('b1')];
  const again = [aside('d1'), rewind('d2', 'a3'), event('e1')];
  const events = [event('a1'), event('a2'), event('a3'), ...back, ...again];
  assert.equal(ids(conversationOf(events)), 'a1 a2 a3 e1');
});

test('a rewind to an event that is not there changes nothing', () => {
  assert.equal(ids(conversationOf([event('a1'), aside('c1'), rewind('c2', 'x9')])), 'a1');
});

test('a run that was left out under way stays out, and comes back with its words', () => {
  const left = [event('a1'), event('b1'), aside('c1'), rewind('c2', 'a1'), event('b2')];
  assert.equal(ids(conversationOf(left)), 'a1');
  const back = [...left.slice(0, 4), aside('d1'), rewind('d2', 'b1'), event('b2')];
  assert.equal(ids(conversationOf(back)), 'a1 b1 b2');
});

test('to a run that goes on, nothing was left out since it began', () => {
  const events = [event('a1'), event('b1'), aside('c1'), rewind('c2', null), event('b2')];
  assert.equal(ids(conversationOf(events, 'b')), 'a1 b1 b2');
});

test('the event before is the one in the conversation, not in the log', () => {
  const events = [event('a1'), event('a2'), aside('c1'), rewind('c2', 'a1'), event('b1')];
  assert.equal(eventBefore(events, 'b1'), 'a1');
  assert.equal(eventBefore(events, 'a1'), null);
  assert.equal(eventBefore(events, 'c1'), null);
});

test('a summary that an aside has made counts, until a rewind goes back behind it', () => {
  const say = (id: string): Event =>
    event(id, { content: { role: 'user', parts: [{ kind: 'text', text: id }] } });
  const summary = event('c2', {
    actions: { compaction: { upTo: 'a2', summary: 'they talked' } },
    metadata: { lastRead: 'c1' },
  });
  const events = [say('a1'), say('a2'), aside('c1'), summary, say('b1')];
  const view = { agent: 'x', branch: undefined, include: 'default', model: 'm' } as const;
  const text = (log: readonly Event[]): string =>
    JSON.stringify(historyOf(log, { ...view, runId: 'z' }));
  assert.match(text(events), /they talked.*b1/);
  assert.doesNotMatch(text(events), /a1|a2/);
  const gone = text([...events, aside('d1'), rewind('d2', 'a1')]);
  assert.match(gone, /a1/);
  assert.doesNotMatch(gone, /they talked|a2|b1/);
});

test('whatever was rewound, going back to an event shows what was there when it was the last', () => {
  const step = fc.oneof(
    fc.constant({ kind: 'say' as const, at: 0 }),
    fc.record({ kind: fc.constant('rewind' as const), at: fc.nat(40) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const log: Event[] = [];
      const shown = new Map<string, string>();
      for (const [index, { kind, at }] of steps.entries()) {
        const run = createEvent({ runId: `run${index}`, author: 'user' });
        const known = [...shown.keys()];
        const to = kind === 'rewind' ? known[at % Math.max(1, known.length)] : undefined;
        if (to === undefined) {
          log.push(run);
          shown.set(run.id, ids(conversationOf(log)));
          continue;
        }
        log.push({ ...run, aside: true, actions: { rewind: { to } } });
        assert.equal(ids(conversationOf(log)), shown.get(to));
      }
    }),
  );
});
