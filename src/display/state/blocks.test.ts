import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { splitBlocks } from './blocks.ts';

test('a block is finished when the next one starts', () => {
  assert.deepEqual(splitBlocks('one\ntwo\n'), { done: [], rest: 'one\ntwo\n' });
  assert.deepEqual(splitBlocks('one\n\ntwo'), { done: [], rest: 'one\n\ntwo' });
  assert.deepEqual(splitBlocks('one\n\ntwo\n'), { done: ['one'], rest: 'two\n' });
});

test('a fenced code block is one block, and finished when the fence closes', () => {
  const code = '```ts\na\n\n\nb\n';
  assert.deepEqual(splitBlocks(code), { done: [], rest: code });
  assert.deepEqual(splitBlocks(`${code}\`\`\`\n`), { done: ['```ts\na\n\n\nb\n```'], rest: '' });
  assert.deepEqual(splitBlocks('````\n```\n````\n').done, ['````\n```\n````']);
});

test('a list with all its content is one block', () => {
  const list = '- a\n\n  more of a\n\n- b\n';
  assert.deepEqual(splitBlocks(list), { done: [], rest: list });
  assert.deepEqual(splitBlocks(`${list}\nend\n`).done, [list.trimEnd()]);
});

test('the blocks do not depend on how the text is divided into chunks', () => {
  const piece = fc.constantFrom('a', ' ', '\n', '\n\n', '```', '- ', '1. ', '  ', '~~~\n', '#');
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const whole = splitBlocks(pieces.join(''));
      const done: string[] = [];
      let rest = '';
      for (const each of pieces) {
        const step = splitBlocks(rest + each);
        done.push(...step.done);
        rest = step.rest;
      }
      assert.deepEqual({ done, rest }, whole);
    }),
    { numRuns: 1000 },
  );
});
