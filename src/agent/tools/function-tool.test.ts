import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../base/index.ts';
import { z } from 'zod';
import { toolContext } from '../../../test/support/tool-context.ts';
import { RichResponse, Waiting } from '../tool.ts';
import { tool } from './function-tool.ts';
import { jsonResponse, MAX_RESPONSE_LENGTH } from '../tool-result.ts';

/** What a tool says that returns this. */
async function said(result: unknown): Promise<unknown> {
  const says = tool({ name: 'says', description: '', input: z.object({}), run: () => result });
  return says.run({}, toolContext());
}

const weather = tool({
  name: 'get_weather',
  description: 'The weather',
  input: z.object({
    city: z.string().describe('Where'),
    days: z.number().int().min(1).default(3),
  }),
  // The types are the schema's: this would not compile otherwise.
  run: ({ city, days }) => `${city.toUpperCase()} ${days.toFixed()}`,
});

test('the parameters are the JSON Schema of what the model writes, made once', () => {
  assert.deepEqual(weather.parameters, {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Where' },
      days: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 3 },
    },
    required: ['city'],
  });
  assert.equal(weather.parameters, weather.parameters);
});

test('a call gets its arguments as the schema makes them, parsed before or not', async () => {
  assert.equal(await weather.run({ city: 'Rome' }, toolContext()), 'ROME 3');
  const parsed = weather.parse?.({ city: 'Rome', days: 1 });
  assert.ok(parsed);
  assert.equal(await weather.run(parsed, toolContext()), 'ROME 1');
});

test('a schema that changes what it reads is applied once', async () => {
  const day = tool({
    name: 'day',
    description: '',
    input: z.object({ at: z.number().transform((time) => new Date(time)) }),
    confirm: ({ at }) => at.getTime() > 0,
    run: ({ at }) => at,
  });
  const parsed = day.parse?.({ at: 0 });
  assert.ok(parsed);
  assert.equal(await day.confirm?.(parsed, toolContext()), false);
  assert.equal(await day.run(parsed, toolContext()), '1970-01-01T00:00:00.000Z');
});

test('invalid arguments are refused with one line that says where and why', async () => {
  const refusal = (args: JsonObject) => () => weather.parse?.(args);
  assert.throws(refusal({ days: 0 }), {
    message:
      'the arguments do not match the schema: city: Invalid input: expected string, received undefined; ' +
      'days: Too small: expected number to be >=1',
  });
  await assert.rejects(async () => weather.run({}, toolContext()), /do not match/);
});

test('the error stays short, however many fields are invalid', () => {
  const many = tool({
    name: 'many',
    description: '',
    input: z.object({ list: z.array(z.number()) }),
    run: () => null,
  });
  const list = Array.from({ length: 1_000 }, () => 'x');
  assert.throws(
    () => many.parse?.({ list }),
    (error) =>
      error instanceof TypeError &&
      error.message.length < 1_500 &&
      error.message.endsWith('and 995 more'),
  );
});

for (const name of ['', 'has space', '9lives', '-x', 'ünï', 'a.b', 'x'.repeat(65)]) {
  test(`${JSON.stringify(name).slice(0, 20)} is not a valid name`, () => {
    const make = () => tool({ name, description: '', input: z.object({}), run: () => null });
    assert.throws(make, /is not a valid tool name/);
  });
}

test('confirmsAfter gets the parsed arguments, and is not asked about invalid ones', () => {
  const spend = tool({
    name: 'spend',
    description: 'Spends',
    input: z.object({ at: z.coerce.date() }),
    confirmsAfter: ({ at }, earlier) => at.getTime() > 0 && earlier.name === 'pay',
    run: () => 'ok',
  });
  const earlier = { kind: 'function-call', id: 'c1', name: 'pay', args: {} } as const;
  assert.equal(spend.confirmsAfter?.({ at: '2026-01-01' }, earlier), true);
  assert.equal(spend.confirmsAfter?.({ at: '2026-01-01' }, { ...earlier, name: 'look' }), false);
  assert.equal(spend.confirmsAfter?.({ at: 'soon' }, earlier), false);
});

test('confirm is a constant, a function or absent', async () => {
  const made = (confirm?: boolean) =>
    tool({
      name: 'x',
      description: '',
      input: z.object({}),
      run: () => null,
      ...(confirm !== undefined && { confirm }),
    });
  assert.equal('confirm' in made(), false);
  assert.equal(await made(true).confirm?.({}, toolContext()), true);
  assert.equal(await made(false).confirm?.({}, toolContext()), false);
});

test('a question and pictures pass through', async () => {
  const waiting = new Waiting({ id: 'q', kind: 'input', text: 'Which?', agent: 'a' });
  assert.equal(await said(waiting), waiting);
  const parts = [{ kind: 'blob', mediaType: 'image/png', data: 'AAAA' }] as const;
  const rich = await said(new RichResponse('a picture', { parts, display: 'for people' }));
  assert.ok(rich instanceof RichResponse);
  assert.deepEqual([rich.response, rich.parts, rich.display], ['a picture', parts, 'for people']);
});

test('an error of the function is passed on', async () => {
  const bad = tool({
    name: 'bad',
    description: '',
    input: z.object({}),
    run: () => {
      throw new Error('no such city');
    },
  });
  await assert.rejects(async () => bad.run({}, toolContext()), /^Error: no such city$/);
});

const circular: Record<string, unknown> = { name: 'loop' };
circular['self'] = [circular];
const shared = { n: 1 };
for (const [what, value, expected] of [
  ['nothing', undefined, null],
  ['undefined inside', { a: undefined, b: [undefined] }, { b: [null] }],
  ['an error', new Error('no such city'), { error: 'no such city' }],
  ['a date', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ['an invalid date', new Date(Number.NaN), null],
  ['a big integer', 2n ** 70n, '1180591620717411303424'],
  ['a loop', circular, { name: 'loop', self: ['[circular]'] }],
  ['the same object twice', [shared, shared], [{ n: 1 }, { n: 1 }]],
  ['a map and a set', new Map<unknown, unknown>([[1, new Set(['a'])]]), { '1': ['a'] }],
  ['bytes', new Uint8Array(7), '[7 bytes]'],
  ['no number', [Number.NaN, Infinity], ['NaN', 'Infinity']],
  ['a URL', new URL('http://a.example/x'), 'http://a.example/x'],
  ['functions and symbols', { f: () => 1, s: Symbol('s') }, {}],
  [
    'a getter that throws',
    {
      get x() {
        throw new Error('not now');
      },
    },
    '[unreadable: not now]',
  ],
] as const) {
  test(`a result with ${what} becomes JSON`, async () => {
    assert.deepEqual(await said(value), expected);
  });
}

test('a long text keeps its head and its tail, with a note between', async () => {
  const text = `head ${'x'.repeat(1_000_000)} tail`;
  const result = String(await said(text));
  assert.ok(result.length < MAX_RESPONSE_LENGTH + 100);
  assert.match(result, /^head x+\n\[… 900010 characters left out …\]\nx+ tail$/);
});

test('a large structure is cut as text', async () => {
  const result = await said({ rows: Array.from({ length: 100_000 }, (_, n) => ({ n })) });
  assert.equal(typeof result, 'string');
  assert.match(String(result), /^\{"rows":\[\{"n":0\}.*characters left out/s);
});

test('a cyclic or very deep structure is cut', async () => {
  let deep: unknown = 'bottom';
  for (let n = 0; n < 100_000; n++) deep = [deep];
  assert.match(JSON.stringify(await said(deep)), /too deep/);
  const endless = function* () {
    for (;;) yield 1;
  };
  assert.ok(String(await said({ toJSON: () => new Set(Array(300_000).keys()) })).length < 200_000);
  assert.deepEqual(await said(endless()), {});
});

test('anything becomes JSON within the limit, and JSON stays as it is', () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
      (value) => {
        const text = JSON.stringify(jsonResponse(value, 200));
        assert.ok(text.length < 700, `${text.length} characters`);
      },
    ),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(jsonResponse(json), json);
    }),
  );
});
