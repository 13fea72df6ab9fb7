import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject, JsonValue } from '../../base/index.ts';
import fc from 'fast-check';
import { answerOf, saidIn } from '../../../test/support/model.ts';
import { functionCalls, userContent, type Content, type FunctionResponsePart } from '../content.ts';
import { CANCELED_REQUEST } from '../canceled-run.ts';
import type { ModelRequest, ToolDeclaration } from '../model.ts';
import { offlineModel } from './offline.ts';

const model = offlineModel();

function declare(
  name: string,
  properties: JsonObject = {},
  required: string[] = [],
): ToolDeclaration {
  return { name, description: '', parameters: { type: 'object', properties, required } };
}

const coding = [
  ...'list_directory read_file search write_file edit run_shell_command'.split(' '),
  ...'fetch_url save_memory'.split(' '),
].map((name) => declare(name));
const weather = declare('get_weather', { city: { type: 'string' }, unit: { type: 'string' } }, [
  'city',
]);

interface Turn {
  readonly text: string;
  readonly calls: readonly [string, JsonObject][];
}

async function ask(request: ModelRequest): Promise<Turn> {
  const chunks = await answerOf(model, request);
  const calls = chunks.filter((chunk) => chunk.kind === 'function-call');
  const finish = chunks.at(-1);
  assert(finish?.kind === 'finish');
  assert.equal(finish.reason, calls.length > 0 ? 'tool-calls' : 'stop');
  return { text: saidIn(chunks), calls: calls.map(({ name, args }) => [name, args]) };
}

function say(text: string, tools: readonly ToolDeclaration[] = coding): Promise<Turn> {
  return ask({ messages: [userContent(text)], tools });
}

type Response = Pick<FunctionResponsePart, 'response' | 'isError'>;

/** The whole conversation: each call gets what `tool` returns, until the model speaks. */
async function converse(
  text: string,
  tools: readonly ToolDeclaration[],
  tool: (name: string, args: JsonObject) => JsonValue | Response,
): Promise<Turn> {
  const messages: Content[] = [userContent(text)];
  const made: [string, JsonObject][] = [];
  for (;;) {
    const chunks = await answerOf(model, { messages, tools });
    const parts = chunks.filter((chunk) => chunk.kind !== 'finish');
    const content: Content = { role: 'model', parts };
    messages.push(content);
    const calls = functionCalls(content);
    if (calls.length === 0) return { text: saidIn(chunks), calls: made };
    assert.equal(calls.length, 1, 'one after the other');
    for (const { id, name, args } of calls) {
      made.push([name, args]);
      const returned = tool(name, args);
      const isWhole = typeof returned === 'object' && returned !== null && 'response' in returned;
      const response: Response = isWhole ? (returned as Response) : { response: returned };
      messages.push({
        role: 'user',
        parts: [{ kind: 'function-response', id, name, ...response }],
      });
    }
  }
}

describe('the forms', () => {
  const cases: [string, string, JsonObject][] = [
    ['list', 'list_directory', {}],
    ['list src', 'list_directory', { path: 'src' }],
    ['Please list the files in src.', 'list_directory', { path: 'src' }],
    ['could you list the files?', 'list_directory', {}],
    ['read a.txt', 'read_file', { path: 'a.txt' }],
    ['Read the file "my notes.md".', 'read_file', { path: 'my notes.md' }],
    ['search TODO', 'search', { pattern: 'TODO' }],
    ['search for two words in src', 'search', { pattern: 'two words', path: 'src' }],
    ['search "in or out"', 'search', { pattern: 'in or out' }],
    ['create a.txt with hello', 'write_file', { path: 'a.txt', content: 'hello' }],
    ['please create a file a.txt with hello', 'write_file', { path: 'a.txt', content: 'hello' }],
    [
      'create a new file called b/c.txt with the text "Hi.\nBye."',
      'write_file',
      { path: 'b/c.txt', content: 'Hi.\nBye.' },
    ],
    ["create a.txt with it's fine", 'write_file', { path: 'a.txt', content: "it's fine" }],
    ['replace one with two in a.txt', 'edit', { path: 'a.txt', old: 'one', new: 'two' }],
    [
      'replace \'a with b\' by "c in d" in the file e.txt',
      'edit',
      { path: 'e.txt', old: 'a with b', new: 'c in d' },
    ],
    ['run npm test', 'run_shell_command', { command: 'npm test' }],
    ['run ls -la .', 'run_shell_command', { command: 'ls -la .' }],
    ['run `echo "x then read y"`.', 'run_shell_command', { command: 'echo "x then read y"' }],
    ['run echo "hi there"', 'run_shell_command', { command: 'echo "hi there"' }],
    ['fetch https://example.com/a?b=c.', 'fetch_url', { url: 'https://example.com/a?b=c' }],
    ['remember that I like tea', 'save_memory', { text: 'I like tea' }],
  ];
  for (const [said, name, args] of cases) {
    test(JSON.stringify(said), async () => {
      assert.deepEqual((await say(said)).calls, [[name, args]]);
    });
  }
});

test('requests joined by "then" run one after the other, and are reported together', async () => {
  const said = 'create a.txt with now and then a word, then read a.txt, and then list.';
  const { calls, text } = await converse(said, coding, (name) =>
    name === 'read_file' ? { content: 'now and then a word\n' } : 'a.txt',
  );
  assert.deepEqual(calls, [
    ['write_file', { path: 'a.txt', content: 'now and then a word' }],
    ['read_file', { path: 'a.txt' }],
    ['list_directory', {}],
  ]);
  assert.equal(
    text,
    'I wrote a.txt.\n\nContent of a.txt:\nnow and then a word\n\nContent of this folder:\na.txt',
  );
});

test('after a failed or denied call, the remaining requests are skipped and reported', async () => {
  const denied = { response: { error: 'the user said no' }, isError: true };
  const { calls, text } = await converse('run rm x then list', coding, () => denied);
  assert.deepEqual(calls, [['run_shell_command', { command: 'rm x' }]]);
  assert.equal(text, '"run COMMAND" did not work: the user said no\n\nI skipped the last request.');
});

test('a tool that is not offered is named in the answer', async () => {
  const { calls, text } = await say('read a.txt', [weather]);
  assert.deepEqual(calls, []);
  assert.equal(text, 'I cannot do "read FILE" here: the tool read_file is not available.');
});

test('it calls no tool if tools are forbidden', async () => {
  const request: ModelRequest = {
    messages: [userContent('list')],
    tools: coding,
    toolChoice: 'none',
  };
  assert.deepEqual((await ask(request)).calls, []);
});

describe('tools that it knows only by their declaration', () => {
  const dice = declare('roll_dice');
  const sleep = declare('set_alarm', { hour: { type: 'integer' } }, ['hour']);
  const convert = declare('convert', { from: { type: 'string' }, to: { type: 'string' } }, [
    'from',
    'to',
  ]);
  const mode = declare('switchMode', { mode: { type: 'string', enum: ['dark', 'light'] } }, [
    'mode',
  ]);
  const tools = [...coding, weather, dice, sleep, convert, mode];
  const cases: [string, string, JsonObject][] = [
    ['get_weather Paris', 'get_weather', { city: 'Paris' }],
    ['get_weather {"city":"Paris","unit":"C"}', 'get_weather', { city: 'Paris', unit: 'C' }],
    ['What is the weather in New York?', 'get_weather', { city: 'New York' }],
    ['weather in "San José" today', 'get_weather', { city: 'San José' }],
    ['Paris weather', 'get_weather', { city: 'Paris' }],
    ['roll the dice, please', 'roll_dice', {}],
    ['set an alarm for 7', 'set_alarm', { hour: 7 }],
    ['switch to dark mode', 'switchMode', { mode: 'dark' }],
    ['convert {"from":"EUR","to":"USD"}', 'convert', { from: 'EUR', to: 'USD' }],
  ];
  for (const [said, name, args] of cases) {
    test(JSON.stringify(said), async () => {
      assert.deepEqual((await say(said, tools)).calls, [[name, args]]);
    });
  }

  for (const said of ['get_weather', 'convert 3 EUR', 'set an alarm', 'switch the mode']) {
    test(`no call is made if something is missing: ${said}`, async () => {
      const { calls, text } = await say(said, tools);
      assert.deepEqual(calls, []);
      assert.match(text, /^- get_weather CITY$/m);
      assert.match(text, /^- convert \{"from", "to": …\}$/m);
    });
  }

  test('no call is made if two tools match equally', async () => {
    const other = declare('weather', { city: { type: 'string' } }, ['city']);
    assert.deepEqual((await say('how is the weather in Paris', [weather, other])).calls, []);
  });

  test('the response is reported', async () => {
    const said = 'weather in Paris then weather in Rome';
    const { calls, text } = await converse(said, tools, (_name, { city }) => ({
      city: city ?? '',
      sky: 'clear',
    }));
    assert.equal(calls.length, 2);
    assert.equal(
      text,
      'get_weather returned:\n{"city":"Paris","sky":"clear"}\n\nget_weather returned:\n{"city":"Rome","sky":"clear"}',
    );
  });
});

test('a command is reported with its output, and with its exit code only after a failure', async () => {
  const shell = [{ name: 'run_shell_command', description: '', parameters: {} }];
  const told = async (response: JsonObject) => {
    const call = {
      kind: 'function-call',
      id: 'c1',
      name: 'run_shell_command',
      args: { command: 'ls' },
    } as const;
    const messages: Content[] = [
      { role: 'user', parts: [{ kind: 'text', text: 'run ls' }] },
      { role: 'model', parts: [call] },
      { role: 'user', parts: [{ kind: 'function-response', id: 'c1', name: call.name, response }] },
    ];
    return (await ask({ messages, tools: shell })).text;
  };
  assert.equal(
    await told({ output: 'a.txt\n', exit_code: 0, duration_ms: 3 }),
    'I ran `ls`:\na.txt',
  );
  assert.equal(await told({ output: 'no\n', exit_code: 2 }), 'I ran `ls`:\nno\n[exit code 2]');
  assert.equal(await told({ output: '', exit_code: 0 }), 'I ran `ls`:\n(nothing)');
});

test('it says what it is', async () => {
  const { text } = await say('Who are you?');
  assert.match(text, /offline model: .* no network and no key/);
  assert.match(text, /^- create FILE with TEXT$/m);
});

test('any other request is repeated in short, with a list of possible requests', async () => {
  const { text } = await say(`What is the meaning\nof ${'life '.repeat(100)}?`);
  assert.match(text, /^You said: "What is the meaning of life life .*…"\./);
  for (const form of ['list [DIR]', 'read FILE', 'run COMMAND', 'remember TEXT'])
    assert(text.includes(`- ${form}\n`));
  assert.match((await say('hello', [])).text, /No tools are available here/);
});

test('text of other agents is not part of the request', async () => {
  const parts = ['What is the weather in Paris?', '[greeter] said: One moment.'].map(
    (text) => ({ kind: 'text', text }) as const,
  );
  const { calls } = await ask({ messages: [{ role: 'user', parts }], tools: [weather] });
  assert.deepEqual(calls, [['get_weather', { city: 'Paris' }]]);
});

test('a request that was canceled is not made', async () => {
  const parts = ['run rm a.txt', CANCELED_REQUEST, 'list'].map((text) => ({
    kind: 'text' as const,
    text,
  }));
  const messages: Content[] = [{ role: 'user', parts }];
  assert.deepEqual((await ask({ messages, tools: coding })).calls, [['list_directory', {}]]);
});

test('an earlier request is not made again', async () => {
  const messages: Content[] = [
    userContent('list'),
    {
      role: 'model',
      parts: [{ kind: 'function-call', id: '1', name: 'list_directory', args: {} }],
    },
    {
      role: 'user',
      parts: [{ kind: 'function-response', id: '1', name: 'list_directory', response: 'a' }],
    },
    { role: 'model', parts: [{ kind: 'text', text: 'Content of this folder:\na' }] },
    userContent('list'),
  ];
  assert.deepEqual((await ask({ messages, tools: coding })).calls, [['list_directory', {}]]);
});

test('every request gets an answer, and always the same one', async () => {
  const word = fc.oneof(
    fc.constantFrom(
      'list',
      'read',
      'then',
      'with',
      'in',
      'replace',
      'create',
      '"',
      "'",
      '{',
      '}',
      '.',
      'weather',
      '\n',
      '\0',
    ),
    fc.string({ maxLength: 8 }),
  );
  const text = fc.array(word, { maxLength: 40 }).map((words) => words.join(' '));
  await fc.assert(
    fc.asyncProperty(text, async (said) => {
      assert.deepEqual(
        await say(said, [...coding, weather]),
        await say(said, [...coding, weather]),
      );
    }),
    { numRuns: 200 },
  );
});

describe('settings that end an answer', () => {
  const messages = [userContent('hello there')];

  test('at the maximum number of tokens it ends with the reason length', async () => {
    const chunks = await answerOf(model, { messages, maxOutputTokens: 3 });
    assert.equal(saidIn(chunks), 'You said: "h');
    const usage = { inputTokens: 3, outputTokens: 3 };
    assert.deepEqual(chunks.at(-1), { kind: 'finish', reason: 'length', usage });
  });

  test('a surrogate pair is not split', async () => {
    const request = { messages: [userContent('🙂🙂🙂🙂')], maxOutputTokens: 3 };
    assert.equal(saidIn(await answerOf(model, request)), 'You said: "');
  });

  test('it ends before the first stop sequence', async () => {
    const chunks = await answerOf(model, { messages, stop: ['there', 'hello', 'never'] });
    assert.equal(saidIn(chunks), 'You said: "');
    const usage = { inputTokens: 3, outputTokens: 3 };
    assert.deepEqual(chunks.at(-1), { kind: 'finish', reason: 'stop', usage });
  });
});

test('a long request is answered quickly, whatever its form', async () => {
  for (const verb of ['replace', 'search', 'create', 'run', 'weather']) {
    for (const piece of ['with ', ' ', 'then ', ' in ', '"', '{', '.']) {
      const started = performance.now();
      await say(`${verb} a${piece.repeat(19_000 / piece.length)}b`, [...coding, weather]);
      assert(performance.now() - started < 1000, JSON.stringify([verb, piece]));
    }
  }
});

test('an answer in JSON is JSON, and a schema is refused', async () => {
  const messages = [userContent('Hello')];
  const { text } = await ask({ messages, json: true });
  const { answer, ...others } = JSON.parse(text);
  assert.match(answer, /^You said: "Hello"/);
  assert.deepEqual(others, {});
  await assert.rejects(ask({ messages, outputSchema: { type: 'object' } }), {
    code: 'invalid-request',
    message: /^the offline model cannot answer with a JSON Schema: choose another model/,
  });
});

test('a request is understood beside an attached file', async () => {
  const attached = '[File output of ! ls]\na.txt\n[End of output of ! ls]';
  const parts = ['read a.txt', attached].map((text) => ({ kind: 'text' as const, text }));
  const { calls } = await ask({ messages: [{ role: 'user', parts }], tools: coding });
  assert.deepEqual(calls, [['read_file', { path: 'a.txt' }]]);
});
