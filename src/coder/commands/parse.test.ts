import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { argument, type CoderCommand } from './command.ts';
import { parsePath, parseTyped } from './parse.ts';

async function* nothing(): AsyncGenerator<string> {}

const commands: readonly CoderCommand[] = [
  { name: 'help', description: '', run: nothing },
  {
    name: 'memory',
    description: '',
    subCommands: [
      { name: 'show', description: '', run: nothing },
      { name: 'add', description: '', arguments: [argument('TEXT', '')], run: nothing },
    ],
  },
  { name: 'review', description: '', prompt: (text) => ({ text, shell: [] }) },
];

/** `memory add | some text`, or the problem. */
function read(text: string): string {
  const typed = parseTyped(text, commands);
  if (typed.kind === 'text') return `text: ${typed.text}`;
  return typed.kind === 'problem' ? typed.problem : `${typed.path.join(' ')} | ${typed.args}`;
}

for (const [typed, expected] of [
  ['/help', 'help | '],
  ['/help  \n', 'help | '],
  ['/memory  add  two  words ', 'memory add | two  words'],
  ['/review line one\nline two', 'review | line one\nline two'],
  ['//help', 'text: /help'],
  ['///help', 'text: ///help'],
  ['/etc/hosts is broken', 'text: /etc/hosts is broken'],
  ['/help/me', 'text: /help/me'],
  ['/helpme', 'text: /helpme'],
  ['//nothing', 'text: //nothing'],
  [' /help', 'text:  /help'],
  ['/', 'text: /'],
  ['help', 'text: help'],
  ['/help me', '/help takes no arguments'],
  ['/memory', '/memory needs a subcommand: /memory show, /memory add TEXT'],
  ['/memory shown', '/memory needs a subcommand: /memory show, /memory add TEXT'],
  ['/memory add', 'An argument is missing: /memory add TEXT'],
] as const) {
  test(`${JSON.stringify(typed)} is ${JSON.stringify(expected)}`, () => {
    assert.equal(read(typed), expected);
  });
}

test('a path is the command with what is typed behind it, and one that is unknown says what there is', () => {
  const found = parsePath(['memory', 'add'], ' a b ', commands);
  assert.ok(found.kind === 'command');
  assert.deepEqual([found.path, found.args], [['memory', 'add'], 'a b']);
  assert.deepEqual(parsePath(['nothing'], '', commands), {
    kind: 'problem',
    problem: 'There is no command /nothing; the commands are /help, /memory, /review',
  });
});

test('a name in a path is one name, not a way to write another command', () => {
  for (const path of [['/help'], ['memory add'], ['', 'help'], ['review', 'x']]) {
    assert.equal(parsePath(path, 'x', commands).kind, 'problem', JSON.stringify(path));
  }
});

test('no text makes it throw, and what is no command stays as it was or loses one slash', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const typed = parseTyped(text, commands);
      if (typed.kind === 'text') assert.ok(typed.text === text || `/${typed.text}` === text);
    }),
  );
});
