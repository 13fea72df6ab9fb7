import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { answerOf, saidIn } from '../../../test/support/model.ts';
import { userContent } from '../content.ts';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';
import { resolveModel } from './resolve.ts';
import { scriptedModel, type ScriptedResponse } from './scripted.ts';

const request: ModelRequest = { messages: [userContent('hello')] };

function collect(model: Model): Promise<ModelChunk[]> {
  return answerOf(model, request);
}

function scriptFile(script: unknown): { path: string } & Disposable {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-script-'));
  const file = path.join(folder, 'script.json');
  writeFileSync(file, typeof script === 'string' ? script : JSON.stringify(script));
  return { path: file, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

test('a response is played step by step, text in small pieces, calls with ids of their own', async () => {
  const text = 'The quick brown fox 🦊 jumps over the lazy dog.';
  const chunks = await collect(
    scriptedModel([
      [
        { thought: { subject: 'Foxes', description: 'I know one' } },
        { text },
        { call: { name: 'a', args: { x: 1 } } },
        { call: { name: 'b' } },
      ],
    ]),
  );
  const texts = chunks.filter((chunk) => chunk.kind === 'text');
  assert(texts.length > 2);
  assert.equal(saidIn(chunks), text);
  assert.equal(saidIn(chunks, 'thought'), '**Foxes**\n\nI know one');
  const calls = chunks.filter((chunk) => chunk.kind === 'function-call');
  assert.deepEqual(
    calls.map(({ name, args }) => ({ name, args })),
    [
      { name: 'a', args: { x: 1 } },
      { name: 'b', args: {} },
    ],
  );
  assert.notEqual(calls[0]?.id, calls[1]?.id);
  const finish = chunks.at(-1);
  assert(finish?.kind === 'finish');
  assert.equal(finish.reason, 'tool-calls');
  assert((finish.usage?.outputTokens ?? 0) > 0);
});

test('no surrogate pair is cut in two', async () => {
  for (let before = 0; before < 20; before++) {
    const text = `${'a'.repeat(before)}${'🦊'.repeat(20)}`;
    const chunks = await collect(scriptedModel([[{ text }]]));
    for (const chunk of chunks) assert(chunk.kind !== 'text' || chunk.text.isWellFormed());
  }
});

test('each call takes the next response, also when calls overlap; then the script is exhausted', async () => {
  const model = scriptedModel([[{ text: 'one' }], [{ text: 'two' }]]);
  const answers = await Promise.all([collect(model), collect(model)]);
  assert.deepEqual(
    answers.map(([first]) => first),
    [
      { kind: 'text', text: 'one' },
      { kind: 'text', text: 'two' },
    ],
  );
  await assert.rejects(collect(model), (error) => {
    assert(error instanceof ModelError);
    assert.equal(error.code, 'exhausted');
    assert.match(error.message, /^script exhausted/);
    return true;
  });
});

test('an error step becomes the error of a vendor', async () => {
  const model = scriptedModel([
    [{ error: { status: 429, message: 'slow down' } }],
    [{ error: { status: 400, message: 'no' } }],
    [{ error: { message: 'odd' } }],
  ]);
  const fields = { code: 'rate-limit', status: 429, retryable: true, message: 'slow down' };
  await assert.rejects(collect(model), fields);
  await assert.rejects(collect(model), { code: 'invalid-request', status: 400, retryable: false });
  await assert.rejects(collect(model), { code: 'failed', status: undefined, retryable: false });
});

test('a script that is chosen by name is retried after a 429, with the next response', async () => {
  using file = scriptFile([[{ error: { status: 429, message: 'slow down' } }], [{ text: 'hi' }]]);
  const model = resolveModel(`scripted:${file.path}`, { retry: { delayMs: 1 } });
  assert.equal(model.name, `scripted:${file.path}`);
  assert.deepEqual((await collect(model))[0], { kind: 'text', text: 'hi' });
});

test('a delay ends when the signal is aborted', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const model = scriptedModel([[{ text: 'now' }, { delayMs: 3_600_000 }, { text: 'never' }]]);
  const steps = model.generate(request, controller.signal)[Symbol.asyncIterator]();
  assert.deepEqual((await steps.next()).value, { kind: 'text', text: 'now' });
  const next = steps.next();
  controller.abort(reason);
  await assert.rejects(next, (error) => error === reason);
});

test('onRequest is called with each request', async () => {
  const seen: ModelRequest[] = [];
  await collect(scriptedModel([[]], { onRequest: (each) => seen.push(each) }));
  assert.deepEqual(seen, [request]);
});

const wrong: [string, unknown, RegExp][] = [
  ['that is not an array', {}, /is not a valid script: it is not an array/],
  [
    'with a response that is no array',
    [{ text: 'a' }],
    /, response 1: it is not an array of steps/,
  ],
  ['with an empty step', [[], [{ text: 'a' }, {}]], /, response 2, step 2: a step must be one of/],
  [
    'with two things in a step',
    [[{ text: 'a', delayMs: 1 }]],
    /, response 1, step 1: a step must be/,
  ],
  ['with a step that nobody knows', [[{ txt: 'a' }]], /, response 1, step 1: .*"txt"/],
  ['with a step that is not an object', [[null]], /, response 1, step 1: a step must be/],
  ['with a text that is not a string', [[{ text: 1 }]], /, response 1, step 1: text is invalid/],
  [
    'with a call that is no object',
    [[{ call: 'a' }]],
    /, response 1, step 1: call is not an object/,
  ],
  [
    'with a call without a name',
    [[{ call: { args: {} } }]],
    /, response 1, step 1: call\.name is missing/,
  ],
  [
    'with arguments that are none',
    [[{ call: { name: 'a', args: [] } }]],
    /: call\.args is missing or/,
  ],
  ['with a field too many', [[{ call: { name: 'a', arg: {} } }]], /: call\.arg is unknown/],
  ['with a negative delay', [[{ delayMs: -1 }]], /, response 1, step 1: delayMs is invalid/],
  ['with an error that is none', [[{ error: { status: 200, message: '' } }]], /: error\.status is/],
  ['that is no JSON', '[[', /cannot read the script .*JSON/],
];
for (const [what, script, says] of wrong) {
  test(`a script ${what} is refused, and the error names the step`, () => {
    using file = scriptFile(script);
    assert.throws(() => resolveModel(`scripted:${file.path}`), says);
  });
}

test('a script in code is checked too', () => {
  const script: ScriptedResponse[] = [[{ text: 'a', delayMs: 1 }]];
  assert.throws(
    () => scriptedModel(script),
    /scripted is not a valid script, response 1, step 1: /,
  );
});
