import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createEvent, type ContentPart, type Event } from '../../agent/index.ts';
import { readMessage } from '../../protocol/development-tool/index.ts';
import { ShownImages, Speech, type Utterance } from './speech.ts';

function piece(...parts: ContentPart[]): Event {
  const content = { role: 'model', parts } as const;
  return createEvent({ author: 'coder', runId: 'r' }, { partial: true, content });
}

/** Sends a thought token by token, each after a pause that is long enough to be reported, and then a text. */
function slowThought(t: TestContext, tokens: readonly string[]): Utterance[] {
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  const speech = new Speech(new ShownImages());
  const out: Utterance[] = [];
  for (const text of tokens) {
    out.push(...speech.piece(piece({ kind: 'thought', text })));
    now += 700;
    out.push(...speech.pause());
  }
  out.push(...speech.piece(piece({ kind: 'text', text: 'Done.' })));
  return out.filter(({ kind }) => kind === 'THOUGHT');
}

function thoughtsIn(said: readonly Utterance[]) {
  const parts = said.map(({ part }) => part);
  const message = { kind: 'message', messageId: 'm', role: 'agent', parts } as const;
  return readMessage({ ...message, parts: [...parts] }).flatMap((fact) =>
    fact.kind === 'thought' ? [fact.thought] : [],
  );
}

test('a thought that comes a token at a time is one thought in pieces', (t) => {
  const tokens = ['**Rea', 'ding the', ' file**', '\n\nI will', ' look', ' at it'];
  const thoughts = thoughtsIn(slowThought(t, tokens));
  assert.ok(thoughts.length > 1, 'it grows while the model thinks');
  assert.deepEqual(
    thoughts.map(({ continues = false }) => continues),
    thoughts.map((_, index) => index > 0),
  );
  assert.deepEqual([...new Set(thoughts.map(({ subject }) => subject))], ['Reading the file']);
  const text = thoughts.map(({ description }) => description).join('');
  assert.equal(text.trim(), 'I will look at it');
});

test('a thought without a subject keeps its spaces between the pieces', (t) => {
  const thoughts = thoughtsIn(slowThought(t, ['First', ' I', ' read.']));
  assert.equal(thoughts.map(({ description }) => description).join(''), 'First I read.');
  assert.equal(thoughts.at(-1)?.subject, 'First I read.');
});
