import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFrames } from './frames.ts';

test('no character in an event can end a line of the stream', () => {
  const text = 'one\u2028two\u2029three\u0085four\nfive';
  const frame = createFrames(() => 0)({
    seq: 2,
    event: {
      kind: 'artifact-update',
      taskId: 't',
      contextId: 'c',
      artifact: { artifactId: 'a', parts: [{ kind: 'text', text }] },
    },
    text: () => '',
  });
  const lines = frame.split(/[\n\r\u0085\u2028\u2029]/);
  assert.deepEqual(
    lines.map((line) => line.split(':', 1)[0]),
    ['id', 'data', '', ''],
  );
  assert.ok(JSON.stringify(JSON.parse(lines[1]!.slice(6))).includes(JSON.stringify(text)));
});
