import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeEvent, eventText } from './v1-write.ts';

test('a chunk of plain text has a short way to its JSON, whatever stands in it', () => {
  const any = fc.string({ unit: 'binary' });
  const chunk = fc.record(
    {
      kind: fc.constant('artifact-update' as const),
      taskId: any,
      contextId: any,
      artifact: fc.record({
        artifactId: any,
        parts: fc.tuple(fc.record({ kind: fc.constant('text' as const), text: any })),
      }),
      append: fc.boolean(),
    },
    { requiredKeys: ['kind', 'taskId', 'contextId', 'artifact'], noNullPrototype: true },
  );
  fc.assert(
    fc.property(chunk, (event) => {
      assert.equal(eventText(event), JSON.stringify(encodeEvent(event)));
    }),
  );
});
