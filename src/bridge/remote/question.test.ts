import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Question } from '../../agent/event.ts';
import { questionMessage } from '../question.ts';
import { remoteQuestions } from './question.ts';

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
