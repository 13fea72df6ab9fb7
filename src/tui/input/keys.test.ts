import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Key } from 'ink';
import { keysOf, press } from './keys.ts';
import { menuKey } from './menu.ts';
import { matching, pickerKey, type Picker } from './picker.ts';

const NONE: Key = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};

test('keys have one name, however the terminal encodes them', () => {
  assert.deepEqual(keysOf('', { ...NONE, upArrow: true }), [press('up')]);
  assert.deepEqual(keysOf('c', { ...NONE, ctrl: true }), [
    press('text', { text: 'c', ctrl: true }),
  ]);
  assert.deepEqual(keysOf('\n', NONE), [press('enter', { shift: true })], 'Ctrl-J');
  assert.deepEqual(keysOf('x', { ...NONE, eventType: 'release' }), []);
});

test('two Esc keys in one event are two key presses', () => {
  assert.deepEqual(keysOf('', { ...NONE, escape: true, meta: true }), [
    press('escape'),
    press('escape'),
  ]);
});

test('one event can contain several keys, Enter included', () => {
  assert.deepEqual(keysOf('hello\r', NONE), [press('text', { text: 'hello' }), press('enter')]);
  assert.deepEqual(keysOf('before\n', NONE), [press('text', { text: 'before' }), press('enter')]);
  assert.deepEqual(keysOf('a\rb', NONE), [
    press('text', { text: 'a' }),
    press('enter'),
    press('text', { text: 'b' }),
  ]);
  assert.deepEqual(keysOf('\r\t\r', NONE), [press('enter'), press('tab'), press('enter')]);
  assert.deepEqual(keysOf('a\tb', NONE), [press('text', { text: 'a\tb' })]);
  assert.deepEqual(keysOf('\u0012x', NONE), [
    press('text', { text: 'r', ctrl: true }),
    press('text', { text: 'x' }),
  ]);
});

test('a menu works with arrows and with numbers', () => {
  assert.deepEqual(menuKey(0, 3, press('up')), { selected: 2 });
  assert.deepEqual(menuKey(-1, 3, press('up')), { selected: 2 });
  assert.deepEqual(menuKey(2, 3, press('down')), { selected: 0 });
  assert.deepEqual(menuKey(1, 3, press('enter')), { chosen: 1 });
  assert.deepEqual(menuKey(0, 3, press('text', { text: '3' })), { chosen: 2 });
  assert.equal(menuKey(0, 3, press('text', { text: '4' })), undefined);
  assert.equal(menuKey(0, 0, press('enter')), undefined);
});

test('typing filters the list of sessions', () => {
  const items = ['fix the server', 'write docs', 'fix docs'].map((title, index) => ({
    id: `s${index}`,
    title,
    when: 'today',
  }));
  let picker: Picker = { title: 'Sessions', items, query: '', selected: 0 };
  for (const key of [press('text', { text: 'docs fix' }), press('down')]) {
    const step = pickerKey(picker, key);
    assert.ok('picker' in step);
    picker = step.picker;
  }
  assert.deepEqual(
    matching(picker).map(({ id }) => id),
    ['s2'],
  );
  assert.deepEqual(pickerKey(picker, press('enter')), { picked: 's2' });
  assert.deepEqual(pickerKey(picker, press('escape')), { picked: undefined });
});

test('Backspace removes a whole emoji from the query of a picker', () => {
  const picker: Picker = { title: 'Sessions', items: [], query: 'a👩‍💻', selected: 0 };
  const step = pickerKey(picker, press('backspace'));
  assert.ok('picker' in step);
  assert.equal(step.picker.query, 'a');
});
