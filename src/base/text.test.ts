import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { inOnePiece } from './text.ts';

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
