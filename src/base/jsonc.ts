/**
 * JSON as people write it: with comments and commas too many. Says where each value stands, so that whoever finds one
 * wrong can name its line, and so that a value can be added without touching the rest of the text.
 */
const MAX_DEPTH = 50;

/** Where a value stands in the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Jsonc {
  readonly value: unknown;
  /** Of the value at this path, or of the nearest one around it. */
  spanOf(path: readonly PropertyKey[]): Span;
  /** The line, counted from 1, of an offset. */
  lineAt(offset: number): number;
}

/** The text is no JSON. */
export class JsoncError extends Error {
  override readonly name = 'JsoncError';
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

// Each is matched where the last one ended.
const GAP = /\s*(?:(?:\/\/[^\n]*|\/\*[^]*?\*\/)\s*)*/y;
// oxlint-disable-next-line no-control-regex -- JSON forbids them inside strings
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

export function parseJsonc(source: string): Jsonc {
  // A byte order mark is no part of the text; a blank in its place keeps the offsets.
  const text = source.replace(/^\ufeff/, ' ');
  const spans = new Map<string, Span>();
  let at = 0;

  const lineAt = (offset: number): number => {
    let line = 1;
    for (let next = text.indexOf('\n'); next !== -1 && next < offset; line += 1) {
      next = text.indexOf('\n', next + 1);
    }
    return line;
  };
  const fail = (message: string): never => {
    throw new JsoncError(message, lineAt(at));
  };
  const take = (token: RegExp): string | undefined => {
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const sign = (character: string): boolean => {
    take(GAP);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };
  const found = (): string =>
    at < text.length ? `found ${JSON.stringify(text[at])}` : 'the file ends';
  const string = (): string | undefined => {
    const literal = take(STRING);
    if (literal === undefined && text[at] === '"') {
      fail('a string that does not end on its line, or has an escape that JSON does not know');
    }
    return literal;
  };

  function value(path: readonly PropertyKey[]): unknown {
    take(GAP);
    if (path.length > MAX_DEPTH) fail(`nested more than ${MAX_DEPTH} levels deep`);
    const start = at;
    const parsed = content(path);
    spans.set(keyOf(path), { start, end: at });
    return parsed;
  }

  function content(path: readonly PropertyKey[]): unknown {
    if (sign('{')) return members(path);
    if (sign('[')) return items(path);
    const literal = string() ?? take(NUMBER) ?? take(WORD);
    return literal === undefined ? fail(`a value is expected, ${found()}`) : JSON.parse(literal);
  }

  function members(path: readonly PropertyKey[]): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    while (!sign('}')) {
      const literal = string() ?? fail(`a key in double quotes is expected, ${found()}`);
      const key: string = JSON.parse(literal);
      if (key === '__proto__') fail('the key "__proto__" is not allowed');
      if (Object.hasOwn(object, key)) fail(`the key ${literal} is there twice`);
      if (!sign(':')) fail(`":" is expected after ${literal}, ${found()}`);
      object[key] = value([...path, key]);
      if (!sign(',') && text[at] !== '}') fail(`"," or "}" is expected, ${found()}`);
    }
    return object;
  }

  function items(path: readonly PropertyKey[]): unknown[] {
    const list: unknown[] = [];
    while (!sign(']')) {
      list.push(value([...path, list.length]));
      if (!sign(',') && text[at] !== ']') fail(`"," or "]" is expected, ${found()}`);
    }
    return list;
  }

  const parsed = value([]);
  take(GAP);
  if (at < text.length) fail(`the end is expected, ${found()}`);

  return {
    value: parsed,
    lineAt,
    spanOf(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const span = spans.get(keyOf(path.slice(0, length)));
        if (span) return span;
      }
      return spans.get(keyOf([]))!;
    },
  };
}

function keyOf(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}
