import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Part, Task } from '../../protocol/index.ts';
import { createFactPrinter } from '../remote/fact-printer.ts';
import { answerOf, contentOf, describeTask } from './render.ts';
import { complain, note, sayJson } from './terminal.ts';

/** C1 controls, which some terminals act on, an escape sequence, and characters that reverse the text after them. */
const HOSTILE = '\u009b2J\u009d0;x\u009c\u001b[45m\u202etxt.exe\u2066\u007f';
const UNSAFE = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

const PARTS: Part[] = [
  { kind: 'text', text: HOSTILE },
  { kind: 'data', data: { [HOSTILE]: [HOSTILE] } },
  { kind: 'file', file: { name: HOSTILE, mimeType: HOSTILE, uri: `https://x/${HOSTILE}` } },
];

const TASK: Task = {
  kind: 'task',
  id: HOSTILE,
  contextId: HOSTILE,
  status: { state: 'input-required', message: message(PARTS) },
  artifacts: [{ artifactId: HOSTILE, name: HOSTILE, parts: PARTS }],
};

function message(parts: Part[]) {
  return { kind: 'message' as const, messageId: 'm', role: 'agent' as const, parts };
}

/** The text without the styles that the program itself adds. */
function unstyled(text: string): string {
  return [0, 1, 2, 22, 31, 32, 33, 36, 39].reduce(
    (rest, code) => rest.replaceAll(`\u001b[${code}m`, ''),
    text,
  );
}

/** What is written to both streams while they are a terminal. */
function onTerminal(t: TestContext, work: () => void): string {
  let written = '';
  for (const stream of [process.stdout, process.stderr]) {
    const { isTTY } = stream;
    stream.isTTY = true;
    t.after(() => (stream.isTTY = isTTY));
    t.mock.method(stream, 'write', (text: string) => {
      written += text;
      return true;
    });
  }
  work();
  t.mock.reset();
  return written;
}

test('nothing in a task acts on the terminal', (t) => {
  const shown = onTerminal(t, () => process.stdout.write(contentOf(PARTS) + describeTask(TASK)));
  const plain = unstyled(shown);
  assert.doesNotMatch(plain, UNSAFE);
  assert.match(plain, /txt\.exe/);
  assert.match(plain, /"\\u009b2J\\u009d0;x/);
});

test('nothing that an agent streams, logs or fails with acts on the terminal', (t) => {
  const shown = onTerminal(t, () => {
    const printer = createFactPrinter();
    printer.print({ kind: 'text', text: HOSTILE });
    printer.print({ kind: 'file', file: { name: HOSTILE, uri: HOSTILE } });
    sayJson({ text: HOSTILE });
    note(HOSTILE);
    complain(HOSTILE);
  });
  assert.doesNotMatch(unstyled(shown), UNSAFE);
});

test('a question that the answer already ends with is shown once', () => {
  const asks = (said: string): Task => ({
    ...TASK,
    status: { state: 'input-required', message: message([{ kind: 'text', text: 'Which city?' }]) },
    artifacts: [{ artifactId: 'a', parts: [{ kind: 'text', text: said }] }],
  });
  assert.equal(answerOf(asks('Let me see. Which city?')), 'Let me see. Which city?');
  assert.equal(answerOf(asks('Let me see.')), 'Let me see.\nWhich city?');
  const { artifacts: _, ...spoken } = asks('');
  const history = [message([{ kind: 'text', text: 'Let me see.\n\nWhich city?' }])];
  assert.equal(answerOf({ ...spoken, history }), 'Let me see.\n\nWhich city?');
});
