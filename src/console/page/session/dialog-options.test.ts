import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shortcutOf, lookOf, optionForKey, usualFirst } from './dialog-options.ts';

const OPTIONS = [
  { id: 'proceed_once', name: 'Allow once' },
  { id: 'proceed_always', name: 'Always allow' },
  { id: 'cancel', name: 'Reject' },
];

test('a number key chooses the option with this number in the terminal, and the button shows it', () => {
  assert.deepEqual(
    usualFirst(OPTIONS).map((option) => `${shortcutOf(OPTIONS, option)} ${option.name}`),
    ['1 Allow once', '3 Reject', '2 Always allow'],
  );
  assert.deepEqual(
    ['1', '2', '3', '4', '0', 'a', '12'].map((key) => optionForKey(OPTIONS, key)?.name),
    ['Allow once', 'Always allow', 'Reject', undefined, undefined, undefined, undefined],
  );
  const many = Array.from({ length: 12 }, (_, at) => ({ id: `o${at}`, name: `Option ${at}` }));
  assert.deepEqual([shortcutOf(many, many[8]!), shortcutOf(many, many[9]!)], ['9', undefined]);
});

test('the id of an option that is also a member of every object is not a usual answer', () => {
  const strange = { id: 'constructor', name: 'Construct' };
  assert.deepEqual(usualFirst([strange, ...OPTIONS]).at(2), strange);
  assert.equal(lookOf(strange), 'other-option');
});
