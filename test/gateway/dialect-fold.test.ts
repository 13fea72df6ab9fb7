// Whatever an agent does, a stream of the dialect tells the task that a GET of the dialect shows, read in one piece or in
// several.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ExecutorEvent } from '../../src/tasks/index.ts';
import {
  foldedFrom,
  saying,
  start,
  STORES,
  taskOf,
  timeless,
  type Dialect,
  type Frame,
} from './dialect-support.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const metadata = fc
  .tuple(fc.nat(), fc.nat())
  .map(([inputTokens, outputTokens]) => ({ usage: { inputTokens, outputTokens } }));
const part = fc.oneof(
  { weight: 3, arbitrary: text.map((value) => ({ kind: 'text' as const, text: value })) },
  text.map((value) => ({ kind: 'text' as const, text: value, metadata: { thought: true } })),
  // JSON has no -0.
  fc.jsonValue({ maxDepth: 1 }).map((data) => ({
    kind: 'data' as const,
    data: JSON.parse(JSON.stringify(data ?? null)) as typeof data & {},
  })),
  fc.webUrl().map((uri) => ({ kind: 'file' as const, file: { uri } })),
);
const parts = fc.array(part, { minLength: 1, maxLength: 3 });
const artifactEvent: fc.Arbitrary<ExecutorEvent> = fc.record({
  kind: fc.constant('artifact-update' as const),
  artifact: fc.record(
    {
      artifactId: fc.constantFrom('a', 'b'),
      parts,
      name: text,
      description: text,
      metadata: fc.dictionary(fc.constantFrom('x', 'y'), fc.nat(), { noNullPrototype: true }),
    },
    { requiredKeys: ['artifactId', 'parts'] },
  ),
  append: fc.boolean(),
});
const message = fc.record(
  {
    kind: fc.constant('message' as const),
    // From few, so that one is said twice.
    messageId: fc.constantFrom('m1', 'm2', 'm3'),
    role: fc.constant('agent' as const),
    parts,
    metadata,
  },
  { requiredKeys: ['kind', 'messageId', 'role', 'parts'] },
);
function status(
  state: 'working' | 'input-required' | 'completed' | 'failed' | 'rejected',
): fc.Arbitrary<ExecutorEvent> {
  const kind = fc.constant('status-update' as const);
  return fc.record(
    { kind, state: fc.constant(state), message },
    { requiredKeys: ['kind', 'state'] },
  );
}
const turn = fc.array(fc.oneof({ weight: 3, arbitrary: artifactEvent }, status('working')), {
  maxLength: 12,
});
const end = fc.oneof(status('completed'), status('failed'), status('rejected'));

/** What the agent does: turns that end with a question, and a last one. */
const script = fc
  .tuple(fc.array(fc.tuple(turn, status('input-required')), { maxLength: 3 }), turn, end)
  .map(([asked, last, over]) =>
    [...asked, [last, over] as const].map(([events, settled]) => events.concat(settled)),
  );

async function framesOf(dialect: Dialect, body: unknown, after?: number): Promise<Frame[]> {
  return (await dialect.follow(body, after)).frames;
}

for (const store of STORES) {
  test(`the stream, in whatever pieces, is the task (${store})`, async (t) => {
    await fc.assert(
      fc.asyncProperty(script, fc.nat(), async (steps, cut) => {
        let at = 0;
        const dialect = start(
          t,
          {
            async *execute() {
              yield* steps[at++] ?? [];
            },
          },
          store,
        );
        const live = await framesOf(dialect, saying('begin', { metadata: { model: 'm' } }));
        const { taskId } = live[0]!.data;
        for (let n = 1; n < steps.length; n++) {
          assert.equal(live.at(-1)?.data.type, 'input-required');
          assert.deepEqual(foldedFrom(live), taskOf(await dialect.get(taskId)));
          live.push(...(await framesOf(dialect, saying(`answer ${n}`, { taskId }))));
        }
        const task = taskOf(await dialect.get(taskId));
        assert.deepEqual(foldedFrom(live), task);
        const whole = await framesOf(dialect, { taskId });
        assert.deepEqual(timeless(whole), timeless(live));
        const seen = 1 + (cut % whole.length);
        const rest = await framesOf(dialect, { taskId }, seen);
        assert.deepEqual(timeless(rest), timeless(whole.slice(seen)));
        assert.deepEqual(foldedFrom([...whole.slice(0, seen), ...rest]), task);
      }),
      { numRuns: process.env['PARLEY_TEST_LONG'] ? 1000 : 60, endOnFailure: true },
    );
  });
}
