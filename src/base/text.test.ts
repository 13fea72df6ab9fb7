import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { elide, inOnePiece } from './text.ts';

setFlagsFromString('--expose-gc');
// Without the middle compiler, V8 soon uses the one that removes code whose result is not used.
setFlagsFromString('--no-maglev');
const gc = runInNewContext('gc') as () => void;

function used(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

/** A text of 31 parts, which V8 links with 30 objects of 32 bytes. */
class Header {
  readonly text: string;

  constructor(number: number) {
    let text = `header ${number}`;
    for (let part = 0; part < 30; part++) text += 'a part';
    this.text = text;
    inOnePiece(text);
  }
}

test('the parts of a text are joined, also by optimized code', () => {
  const headers: Header[] = [];
  for (let number = 0; number < 300_000; number++) headers[0] = new Header(number);
  const before = used();
  for (let number = 0; number < 5000; number++) headers.push(new Header(number));
  const bytes = (used() - before) / headers.length;
  assert.ok(bytes < 500, `${bytes} bytes`);
});

test('a text that is too long keeps its start and its end, and nothing if there is no room', () => {
  assert.equal(elide('abcdef', 4), 'ab\n[… 2 characters left out …]\nef');
  assert.equal(elide('abcdef', 1), '\n[… 6 characters left out …]\n');
  assert.equal(elide('abcdef', 0), '\n[… 6 characters left out …]\n');
});

test('the ends of a long text have the wanted lengths, and no surrogate pair is split', () => {
  assert.equal(elide('abcdefgh', 4, 1), 'abc\n[… 4 characters left out …]\nh');
  assert.equal(elide('a😀bc😀d', 4), 'a\n[… 6 characters left out …]\nd');
});
