/** Values that programs often handle wrongly: texts, numbers and JSON. */
import type { Random } from './random.ts';

/** Texts of this length are made once in a while, to find work that grows faster than its input. */
const LONG = 30_000;

/** A character from U+F700 to U+F7FF stands for a single byte in what is sent: 0x00 to 0xFF. */
const BYTES = 0xf700;

export function byte(value: number): string {
  return String.fromCharCode(BYTES + (value & 0xff));
}

/** Encodes a text as UTF-8, except for the characters that stand for single bytes. */
export function toBytes(text: string): Buffer {
  if (!/[\uf700-\uf7ff]/.test(text)) return Buffer.from(text, 'utf8');
  const parts = text.split(/([\uf700-\uf7ff])/);
  return Buffer.concat(
    parts.map((part, at) =>
      at % 2 === 1 ? Buffer.from([part.charCodeAt(0) - BYTES]) : Buffer.from(part, 'utf8'),
    ),
  );
}

const ODD_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  '\n',
  '\r\n',
  '\t',
  '\u001b[31m',
  '\u001b]0;x\u0007',
  '\u0085',
  '\u009b31m',
  '\u2028',
  '\u2029',
  '\u202e',
  '\u2066',
  '\u200b',
  '\ufeff',
  '\ufffd',
  '\ufffe',
  '\ud800',
  '\udc00',
  'x\ud83d',
  '\ude00\ud83d',
  '\u{1f600}',
  'e\u0301',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'toJSON',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e999',
  '0x10',
  '9007199254740993',
  '-1',
  '%',
  '%00',
  '%2e%2e%2f',
  '%ff',
  '../../../etc/passwd',
  '/etc/passwd',
  'C:\\x',
  '..',
  '.',
  '/',
  '~',
  '*',
  '**',
  '{',
  '[',
  '(',
  '\\',
  '"',
  "'",
  '`',
  '$(id)',
  '${X}',
  '<script>',
  '</script>',
  '<!--',
  '&#x0;',
  '&amp;',
  'data:,x',
  'data: {}',
  'javascript:1',
  'http://127.0.0.1/',
  'http://[::1]/',
  'http://2130706433/',
  'http://a:b@127.0.0.1/',
  'https://',
  'file:///etc/passwd',
  '::',
  'text/plain',
  'image/png',
  'application/json',
  'AAAA',
  'AA==',
  'A',
  '=',
  '2026-01-01T00:00:00Z',
  '2026-13-45T99:99:99Z',
  '+275760-09-13T00:00:00.001Z',
  '0.3',
  '1.0',
];

export function oddText(random: Random): string {
  return random.pick(ODD_TEXTS);
}

/** A text of random characters and odd pieces; rarely a very long one. */
export function text(random: Random): string {
  switch (random.int(8)) {
    case 0:
    case 1:
      return oddText(random);
    case 2:
      return oddText(random) + oddText(random) + word(random);
    case 3:
      return String.fromCodePoint(...random.list(12, () => character(random)));
    case 4:
      return random.once(12) ? long(random) : word(random);
    default:
      return word(random);
  }
}

export function word(random: Random): string {
  const length = 1 + random.int(8);
  return Array.from({ length }, () => String.fromCharCode(97 + random.int(26))).join('');
}

/** One piece, repeated. */
export function long(random: Random): string {
  const unit = random.once(2) ? oddText(random) || 'x' : word(random);
  return unit.repeat(1 + random.int(Math.ceil(LONG / unit.length)));
}

function character(random: Random): number {
  const [start, size] = random.pick([
    [0, 0x20],
    [0x20, 0x60],
    [0x7f, 0x21],
    [0xa0, 0x500],
    [0x2000, 0x70],
    [0xd800, 0x800],
    [0xe000, 0x1000],
    [0x1f300, 0x400],
    [0x10ff00, 0xff],
  ] as const);
  return start + random.int(size);
}

const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  2,
  0.5,
  1e-7,
  255,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2 ** 53,
  1e21,
  1e308,
  -1e308,
  5e-324,
];

export function number(random: Random): number {
  return random.once(3) ? random.int(1000) - 100 : random.pick(NUMBERS);
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Any JSON value. `keys` are names that mean something to the reader. */
export function json(random: Random, keys: readonly string[] = [], depth = 3): Json {
  switch (random.int(depth > 0 ? 9 : 6)) {
    case 0:
      return null;
    case 1:
      return random.once(2);
    case 2:
      return number(random);
    case 3:
    case 4:
    case 5:
      return text(random);
    case 6:
      return random.list(4, () => json(random, keys, depth - 1));
    case 7:
      return random.once(30) ? deep(random) : object(random, keys, depth);
    default:
      return object(random, keys, depth);
  }
}

function object(random: Random, keys: readonly string[], depth: number): Json {
  const made = random.list(5, (): [string, Json] => [
    keys.length > 0 && !random.once(5) ? random.pick(keys) : text(random).slice(0, 100),
    json(random, keys, depth - 1),
  ]);
  return fromEntries(made);
}

/** Unlike an assignment, this makes `__proto__` a field like any other. */
export function fromEntries(entries: readonly (readonly [string, Json])[]): {
  [key: string]: Json;
} {
  return Object.fromEntries(entries);
}

/** A value inside many others. */
function deep(random: Random): Json {
  let value: Json = 1;
  const levels = 1 + random.int(random.once(3) ? 1000 : 60);
  for (let level = 0; level < levels; level++) value = random.once(2) ? [value] : { a: value };
  return value;
}

const ODD_JSON: readonly string[] = [
  '1e999',
  '-1e999',
  '1E400',
  '-0',
  '-0.0',
  '123456789012345678901234567890',
  '0.1e-400',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"a":1,"a":2}',
  '[]',
  '{}',
  '[[]]',
  '"\u2028"',
  'NaN',
  'undefined',
  "'a'",
  '01',
  '+1',
  '.5',
  '{"a":1,}',
  '// x\n1',
];

/** Writes a value as JSON text, rarely with something that JSON.stringify never writes. */
export function jsonText(random: Random, value: Json): string {
  const written = JSON.stringify(value) ?? 'null';
  switch (random.int(14)) {
    case 0: {
      // A value is replaced with an odd one.
      const places = [...written.matchAll(/"[^"\\]*"(?!:)|\b\d+\b|true|false|null/g)];
      const place = places.length > 0 ? random.pick(places) : undefined;
      if (!place) return random.pick(ODD_JSON);
      const after = place.index + place[0].length;
      return written.slice(0, place.index) + random.pick(ODD_JSON) + written.slice(after);
    }
    case 1: {
      // A field is there twice.
      const fields = [...written.matchAll(/"[^"\\]*":(?:"[^"\\]*"|\d+|true|false|null)/g)];
      const field = fields.length > 0 ? random.pick(fields) : undefined;
      if (!field) return written;
      return `${written.slice(0, field.index)}${field[0]},${written.slice(field.index)}`;
    }
    case 2:
      return JSON.stringify(value, null, random.pick([1, 4, '\t'])) ?? 'null';
    default:
      return written;
  }
}
