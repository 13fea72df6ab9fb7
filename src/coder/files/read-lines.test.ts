import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLines, type LineWindow } from './read-lines.ts';

function linesOf(text: string): Promise<LineWindow> {
  const bytes = Buffer.from(text);
  return readLines(
    {
      read: async (buffer, offset, length, position) => ({
        bytesRead: bytes.copy(buffer, offset, position, position + length),
      }),
    },
    {
      offset: 1,
      limit: 10,
      maxLine: 4,
      maxBytes: 100,
      countBytes: 100,
      signal: new AbortController().signal,
    },
  );
}

for (const [what, text, line, cutLines] of [
  ['a CRLF after the longest line is no part of it', '1234\r\nx', '1234', false],
  ['a line is truncated, also directly before a CR inside it', '1234\rabc\nx', '1234', true],
  ['a longer line is truncated', '12345\r\nx', '1234', true],
  ['a CR at the end of the file is left out', '123\r', '123', false],
] as const) {
  test(what, async () => {
    const window = await linesOf(text);
    assert.equal(window.lines[0]?.toString(), line);
    assert.equal(window.cutLines, cutLines);
  });
}
