import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lineSafe } from '../../base/index.ts';
import type { StreamEvent } from '../task.ts';
import { eventText } from './v1-text.ts';
import { encodeEvent } from './v1-write.ts';

const any = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('\u0085', '\u2028', '\u2029', '"', '\\', 'x', '\n', '\u007f'),
  }),
  fc.string({ minLength: 100, maxLength: 200 }),
);
const parts = fc.tuple(fc.record({ kind: fc.constant('text' as const), text: any }));
const ids = { taskId: any, contextId: any };
const status = fc.record(
  { state: fc.constantFrom('submitted' as const, 'working', 'completed'), timestamp: any },
  { requiredKeys: ['state'], noNullPrototype: true },
);
const message = fc.record(
  {
    kind: fc.constant('message' as const),
    messageId: any,
    role: fc.constantFrom('user' as const, 'agent'),
    parts,
    ...ids,
  },
  { requiredKeys: ['kind', 'messageId', 'role', 'parts'], noNullPrototype: true },
);

const PLAIN: Readonly<Record<string, fc.Arbitrary<StreamEvent>>> = {
  'a chunk of plain text': fc.record(
    {
      kind: fc.constant('artifact-update' as const),
      ...ids,
      artifact: fc.record({ artifactId: any, parts }),
      append: fc.boolean(),
    },
    { requiredKeys: ['kind', 'taskId', 'contextId', 'artifact'], noNullPrototype: true },
  ),
  'a status without a message': fc.record({
    kind: fc.constant('status-update' as const),
    ...ids,
    status,
    final: fc.boolean(),
  }),
  'a new task': fc.record({
    kind: fc.constant('task' as const),
    id: any,
    contextId: any,
    status,
    history: fc.tuple(message),
  }),
  'a message': message,
};

for (const [what, event] of Object.entries(PLAIN)) {
  test(`the JSON of ${what}, written without objects, is that of encodeEvent, whatever it contains`, () => {
    fc.assert(
      fc.property(event, (plain) => {
        assert.equal(eventText(plain), lineSafe(JSON.stringify(encodeEvent(plain))));
      }),
    );
  });
}
