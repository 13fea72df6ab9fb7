import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../base/index.ts';
import { elicitationQuestion } from './mcp-elicitation.ts';

type Params = Parameters<typeof elicitationQuestion>[1];

function form(properties: JsonObject, required: string[] = [], message = 'Fill in') {
  const requestedSchema = { type: 'object', properties, required };
  return elicitationQuestion('srv', { message, requestedSchema } as Params);
}

function read(asked: ReturnType<typeof form>, value: string | JsonObject) {
  assert.ok(typeof asked !== 'string');
  return asked.read({ questionId: 'q', value });
}

const text = { type: 'string' };

test('values are read from lines, from one line, and from JSON', () => {
  const asked = form({ name: text, note: text, age: { type: 'integer' } }, ['name', 'age']);
  const content = { name: 'Ann', note: 'a, b; c', age: 7 };
  for (const said of [
    'name: Ann\nnote: a, b; c\nage: 7',
    'name=Ann; note = a, b; c, age: 7',
    JSON.stringify(content),
    content,
  ]) {
    assert.deepEqual(read(asked, said), { action: 'accept', content });
  }
});

test('each type of field is converted and checked', () => {
  for (const [schema, said, expected] of [
    [{ type: 'number' }, '3.5', 3.5],
    [{ type: 'number' }, 'many', /must be a number/],
    [{ type: 'integer' }, '3.5', /must be a whole number/],
    [{ type: 'boolean' }, 'Yes', true],
    [{ type: 'boolean' }, 'perhaps', /must be yes or no/],
    [{ type: 'string', format: 'email' }, 'a@b.example', 'a@b.example'],
    [{ type: 'string', format: 'email' }, 'nobody', /must be an email address/],
    [{ type: 'string', format: 'uri' }, 'x', /must be a URI/],
    [{ type: 'string', format: 'date' }, '2026-02-30', /must be a date such/],
    [{ type: 'string', format: 'date-time' }, '2026-02-03T04:05:06Z', '2026-02-03T04:05:06Z'],
    [{ type: 'string', maxLength: 2 }, 'abc', /must have at most 2 characters/],
    [{ type: 'string', enum: ['a', 'b'], enumNames: ['One', 'Two'] }, 'two', 'b'],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', /must be one of a, b/],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'b, a', ['b', 'a']],
    [{ type: 'array', items: { anyOf: [{ const: 'x', title: 'X-ray' }] } }, 'x-ray', ['x']],
    [
      { type: 'array', minItems: 2, items: { enum: ['a', 'b'] } },
      'a',
      /must have at least 2 values/,
    ],
  ] as const) {
    const result = read(form({ field: schema }, ['field']), said);
    if (expected instanceof RegExp) {
      assert.ok('problem' in result);
      assert.match(result.problem, expected);
    } else {
      assert.deepEqual(result, { action: 'accept', content: { field: expected } });
    }
  }
});

test('unknown fields are refused, and "Accept" sends the defaults', () => {
  const asked = form({ size: { type: 'integer', default: 3 }, note: text });
  assert.deepEqual(read(asked, 'Accept'), { action: 'accept', content: { size: 3 } });
  const result = read(asked, '{"other":1}');
  assert.ok('problem' in result);
  assert.match(result.problem, /^There is no field other; the fields are: size, note/);
});

test('a form that is too large or disguised is not asked', () => {
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`f${at}`, text]));
  assert.equal(form(many), 'the form has more than 50 fields');
  assert.equal(form({ 'a\u202Eb': text }), 'the form has an unusual field name');
  const choices = Array.from({ length: 101 }, (_, at) => String(at));
  const large = { type: 'string', enum: choices };
  assert.equal(form({ f: large }), 'the form has a field with more than 100 choices');
});

test('what a server says is shortened, and its invisible characters are shown', () => {
  const title = 'a\n- password: (text, required)';
  const asked = form({ f: { ...text, title } }, [], `x\u200B${'y'.repeat(10_000)}`);
  assert.ok(typeof asked !== 'string');
  assert.match(asked.text, /x<U\+200B>y/);
  assert.ok(asked.text.length < 6_000);
  assert.ok(!asked.text.includes('\n- password'));
});

test('a long answer is read in linear time', () => {
  const asked = form({ a: text, b: text }, ['a']);
  const since = performance.now();
  read(asked, 'a:'.repeat(50_000));
  read(asked, ',a'.repeat(50_000));
  assert.ok('problem' in read(asked, 'a'.repeat(1_000_000)));
  assert.ok(performance.now() - since < 1_000);
});

test('names of fields and formats are not confused with the properties of every object', () => {
  const asked = form({ city: { type: 'string', format: 'constructor' }, valueOf: text }, ['city']);
  assert.deepEqual(read(asked, 'city: Rome'), { action: 'accept', content: { city: 'Rome' } });
});
