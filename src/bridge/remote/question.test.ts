import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Question } from '../../agent/event.ts';
import { questionMessage } from '../question.ts';
import { remoteAnswers, remoteQuestions } from './question.ts';

const book: Question = {
  id: 'c1',
  kind: 'confirmation',
  text: 'May book_table be called with {"people":9}?',
  agent: 'host',
  tool: 'book_table',
  args: { people: 9 },
};

function passedOn(question: Question): string[] {
  return remoteQuestions(questionMessage([question]).parts, false).map(
    (each) => each.question.text,
  );
}

test('a question is passed on in its own words', () => {
  const city = { ...book, kind: 'input', text: 'Which city?' } as const;
  assert.deepEqual(passedOn(city), ['Which city?']);
});

test('a confirmation says which call it is about, once', () => {
  assert.deepEqual(passedOn(book), [book.text]);
  assert.deepEqual(passedOn({ ...book, text: 'Go on?' }), [
    'Go on?\nTool: book_table\nArguments: {"people":9}',
  ]);
});

for (const [kind, text] of [
  ['confirmation', 'Allow this?'],
  ['input', 'The agent requires more input.'],
  ['auth', 'The agent requires authorization.'],
] as const) {
  test(`a question of the kind ${kind} without a text gets a text for its kind`, () => {
    assert.deepEqual(passedOn({ id: 'c1', kind, text: '', agent: 'host' }), [text]);
  });
}

test('an answer selects an option by its name or its id, in any case', () => {
  const options = [
    { id: 'ProceedAlways', name: '' },
    { id: 'cancel', name: 'Not now' },
  ];
  const outcome = (answer: { value?: string; confirmed?: boolean }) =>
    remoteAnswers([{ id: 'q', remote: 'call', options }], () => ({ questionId: 'q', ...answer }));
  const part = (id: string) => [{ kind: 'data', data: { callId: 'call', outcome: id } }];
  assert.deepEqual(outcome({ value: 'proceedalways' }), part('ProceedAlways'));
  assert.deepEqual(outcome({ value: 'not now' }), part('cancel'));
  assert.deepEqual(outcome({ value: '' }), part('cancel'));
  assert.deepEqual(outcome({ confirmed: true }), part('proceed_once'));
});
