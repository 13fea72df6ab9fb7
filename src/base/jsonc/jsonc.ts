/**
 * Parses JSON with comments and trailing commas, as in configuration files. The result contains the line of each
 * value.
 */
import {
  findNodeAtLocation,
  parse,
  parseTree,
  printParseErrorCode,
  visit,
  type Node,
} from 'jsonc-parser';

const MAX_DEPTH = 50;
const SYNTAX = { allowTrailingComma: true };

export interface Jsonc {
  readonly value: unknown;
  /**
   * Returns the line of the value at this path, counted from 1. If there is no such value, returns the line of the
   * innermost value that exists on the path.
   */
  lineOf(path: readonly PropertyKey[]): number;
}

/** Thrown if `parseJsonc` does not accept a text. */
export class JsoncError extends Error {
  override readonly name = 'JsoncError';
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

const MESSAGES: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'invalid word (keys and strings need double quotes)',
  InvalidNumberFormat: 'invalid number',
  PropertyNameExpected: 'a key in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: '":" is expected',
  CommaExpected: '"," is expected',
  CloseBraceExpected: '"}" is expected',
  CloseBracketExpected: '"]" is expected',
  EndOfFileExpected: 'the end of the file is expected',
  InvalidCommentToken: 'invalid comment',
  UnexpectedEndOfComment: 'a comment does not end',
  UnexpectedEndOfString: 'a string does not end on its line',
  UnexpectedEndOfNumber: 'incomplete number (digits are missing after "." or "e")',
  InvalidUnicode: 'invalid \\u escape in a string',
  InvalidEscapeCharacter: 'invalid escape in a string',
  InvalidCharacter: 'invalid character in a string',
  '<unknown ParseErrorCode>': 'invalid JSON',
};

/**
 * Parses a text. Throws a JsoncError if it is invalid.
 *
 *     const json = parseJsonc('{ "port": 80, } // web');
 *     json.value; // { port: 80 }
 */
export function parseJsonc(source: string): Jsonc {
  // A byte order mark is replaced with a space, so that all offsets stay the same.
  const text = source.replace(/^\ufeff/, ' ');
  check(text);
  const root = parseTree(text, [], SYNTAX)!;
  return {
    value: parse(text, [], SYNTAX) as unknown,
    lineOf(path) {
      const { offset } = nodeAt(root, path);
      return text.slice(0, offset).split('\n').length;
    },
  };
}

/** Checks the text. Throws at the first syntax error, duplicate key, key `__proto__` or too deeply nested value. */
function check(text: string): void {
  const keys: Set<string>[] = [];
  let depth = 0;
  const begin = (line: number): void => {
    depth += 1;
    if (depth > MAX_DEPTH) fail(`nested more than ${MAX_DEPTH} levels deep`, line);
  };
  const end = (): void => {
    depth -= 1;
  };
  visit(
    text,
    {
      onObjectBegin(_offset, _length, line) {
        begin(line);
        keys.push(new Set());
      },
      onObjectProperty(key, _offset, _length, line) {
        if (key === '__proto__') fail('the key "__proto__" is not allowed', line);
        if (keys.at(-1)?.has(key)) fail(`the key ${JSON.stringify(key)} is used twice`, line);
        keys.at(-1)?.add(key);
      },
      onObjectEnd() {
        end();
        keys.pop();
      },
      onArrayBegin: (_offset, _length, line) => begin(line),
      onArrayEnd: end,
      onError(code, offset, _length, line) {
        // Only one character is shown, because the text may contain a secret.
        const found =
          offset < text.length ? `found ${JSON.stringify(text[offset])}` : 'the file ends';
        fail(`${MESSAGES[printParseErrorCode(code)]}, ${found}`, line);
      },
    },
    SYNTAX,
  );
}

function fail(message: string, line: number): never {
  throw new JsoncError(message, line + 1);
}

function nodeAt(root: Node, path: readonly PropertyKey[]): Node {
  for (let length = path.length; length > 0; length -= 1) {
    const segments = path
      .slice(0, length)
      .map((key) => (typeof key === 'number' ? key : String(key)));
    const node = findNodeAtLocation(root, segments);
    if (node) return node;
  }
  return root;
}
