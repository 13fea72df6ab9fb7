import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTranscript } from './transcript.ts';

const line = (number: number): string => `line ${number}\n`;

test('short output is kept as it is', () => {
  const transcript = createTranscript();
  transcript.write('one\ntw');
  transcript.write('o');
  assert.equal(transcript.text(), 'one\ntwo');
  assert.equal(transcript.length(), 7);
});

test('long output keeps its beginning and its end and says how much is missing', () => {
  const transcript = createTranscript();
  let length = 0;
  for (let number = 0; number < 100_000; number++) {
    transcript.write(line(number));
    length += line(number).length;
  }
  const text = transcript.text();
  assert.ok(text.startsWith('line 0\nline 1\n'));
  assert.ok(text.endsWith('line 99998\nline 99999\n'));
  const note = /\[… ([\d,]+) characters were cut here …\]\n/.exec(text)!;
  const cut = Number(note[1]!.replaceAll(',', ''));
  // 10,000 characters stand before it, and a newline where they end in the middle of a line.
  const added = note[0].length + note.index - 10_000;
  assert.equal(text.length - added + cut, length);
  assert.ok(text.length < 60_000);
});

test('what came since the last look is given alone', () => {
  const transcript = createTranscript();
  transcript.write('first\nsec');
  const seen = transcript.length();
  transcript.write('ond\nthird');
  assert.equal(transcript.text(seen), 'ond\nthird');
  assert.equal(transcript.text(transcript.length()), '');
});

test('what came since the last look and is gone is said to be cut', () => {
  const transcript = createTranscript();
  transcript.write('x'.repeat(20_000));
  const seen = transcript.length();
  for (let number = 0; number < 20_000; number++) transcript.write(line(number));
  assert.match(transcript.text(seen), /^\[… [\d,]+ characters were cut here …\]\n/);
});

test('the tail keeps its length when the output becomes longer than its kept beginning', () => {
  const transcript = createTranscript();
  let written = '';
  for (let number = 0; number < 8000; number++) {
    transcript.write(line(number));
    written += line(number);
    assert.equal(transcript.tail(1000), written.slice(-1000));
  }
});

test('the tail is measured in bytes and never breaks a character', () => {
  const transcript = createTranscript();
  transcript.write('日本語🙂'.repeat(2000));
  for (const bytes of [100, 101, 102, 103]) {
    const tail = transcript.tail(bytes);
    assert.ok(Buffer.byteLength(tail) <= bytes);
    assert.ok(tail.endsWith('語🙂'));
    assert.ok(!tail.includes('\uFFFD'));
  }
});
