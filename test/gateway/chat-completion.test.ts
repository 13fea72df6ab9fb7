// The skill `chat-completion` and the settings in the metadata: over both versions of A2A, with the official SDKs, and in the dialect.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sdk03 } from '../interop/sdk-03-client.ts';
import { sdk1 } from '../interop/sdk-1-client.ts';
import { artifactText, taskOf } from '../interop/seen.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type FakeVendor } from '../support/vendors/server.ts';

const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk';

let vendor: FakeVendor;
let gateway: RunningGateway;
let key: string;

before(async () => {
  vendor = await fakeVendor(() => ({ events: openaiCompatible.answer }));
  gateway = await startGateway({
    config: {
      providers: {
        p: { type: 'openai-compatible', baseUrl: `${vendor.url}/v1`, models: ['m', 'other'] },
      },
      models: { embedder: { provider: 'offline' } },
      defaultModel: 'm',
    },
  });
  key = gateway.key();
});

after(async () => {
  await gateway[Symbol.asyncDispose]();
  await vendor[Symbol.asyncDispose]();
});

/** What the vendor was asked last. */
const asked = () => vendor.asked.at(-1)?.body;

interface Sent {
  readonly parts?: readonly object[];
  readonly metadata?: object;
  /** The metadata of the message itself. */
  readonly own?: object;
  readonly contextId?: string;
}

/** Sends a message over JSON-RPC. Returns the task, or the error. */
async function send(version: '0.3' | '1.0', sent: Sent) {
  const { parts = [{ text: 'Weather?' }], metadata, own, contextId } = sent;
  const isOld = version === '0.3';
  const message = {
    messageId: crypto.randomUUID(),
    role: isOld ? 'user' : 'ROLE_USER',
    parts: isOld
      ? parts.map((part) => ({ kind: 'text' in part ? 'text' : 'data', ...part }))
      : parts,
    ...(isOld && { kind: 'message' }),
    ...(own && { metadata: own }),
    ...(contextId !== undefined && { contextId }),
  };
  const method = isOld ? 'message/send' : 'SendMessage';
  const body = { jsonrpc: '2.0', id: 1, method, params: { message, metadata } };
  const answer = await gateway.ask(key, 'POST', '/', body, { 'a2a-version': version });
  const { result, error } = (await answer.json()) as {
    result?: { task?: object };
    error?: { code: number; message: string; data?: unknown };
  };
  return { task: result?.task ?? result, error };
}

const CONVERSATION = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } },
    ],
  },
];

describe('the data part of chat-completion', () => {
  for (const peer of [sdk1('JSONRPC'), sdk1('HTTP+JSON'), sdk03('JSONRPC'), sdk03('HTTP+JSON')]) {
    test(`${peer.name}: its conversation, model and settings reach the provider`, async () => {
      const client = await peer.connect(`${gateway.url}/`, { token: key });
      const data = { messages: CONVERSATION, model: 'other', temperature: 0.3, max_tokens: 77 };
      const task = taskOf(await client.send({ parts: [{ data }] }));
      assert.equal(task.state, 'completed');
      assert.equal(artifactText(task), 'It is sunny.');
      assert.partialDeepStrictEqual(asked(), {
        model: 'other',
        temperature: 0.3,
        max_tokens: 77,
        messages: CONVERSATION,
      });
    });
  }

  test('is read in the dialect, too', async () => {
    const data = { messages: CONVERSATION, system: 'Speak French.', stop: ['END'], seed: 7 };
    const message = { role: 'user', content: [{ type: 'data', data }] };
    const answer = await gateway.ask(key, 'POST', '/a2a/tasks/send', { message });
    assert.equal(answer.status, 200, await answer.clone().text());
    const { messages } = asked() as { messages: object[] };
    assert.deepEqual(messages[0], { role: 'system', content: 'Speak French.\n\nBe brief.' });
    assert.partialDeepStrictEqual(asked(), { model: 'm', stop: ['END'], seed: 7 });
  });

  test('has its whole conversation, and a later message of the context continues it', async () => {
    const contextId = crypto.randomUUID();
    await send('1.0', { contextId, parts: [{ text: 'Forgotten?' }] });
    const messages = [{ role: 'user', content: 'Hello' }];
    await send('1.0', { contextId, parts: [{ data: { messages } }] });
    assert.deepEqual((asked() as { messages: object[] }).messages, messages);
    await send('1.0', { contextId, parts: [{ text: 'And tomorrow?' }] });
    assert.deepEqual((asked() as { messages: object[] }).messages, [
      ...messages,
      { role: 'assistant', content: 'It is sunny.' },
      { role: 'user', content: 'And tomorrow?' },
    ]);
  });

  const messages = [{ role: 'user', content: 'Hello' }];
  const refused: Readonly<Record<string, readonly [Sent, string]>> = {
    'without messages': [{ parts: [{ data: { model: 'm' } }] }, 'data.messages'],
    'with an unknown role': [
      { parts: [{ data: { messages: [{ role: 'robot', content: 'x' }] } }] },
      'data.messages.0.role',
    ],
    'with a field that is not in its schema': [
      { parts: [{ data: { messages, stream: true } }] },
      'data.stream',
    ],
    'with a temperature that is out of range': [
      { parts: [{ data: { messages, temperature: 3 } }] },
      'data.temperature',
    ],
    'with only instructions': [
      { parts: [{ data: { messages: [{ role: 'system', content: 'x' }] } }] },
      'data.messages',
    ],
    'whose model is not that of the metadata': [
      { parts: [{ data: { messages, model: 'm' } }], metadata: { model: 'other' } },
      'metadata.model',
    ],
    'beside a text': [{ parts: [{ data: { messages } }, { text: 'x' }] }, 'message.parts'],
  };
  for (const version of ['0.3', '1.0'] as const) {
    for (const [what, [sent, field]] of Object.entries(refused)) {
      test(`${version}: ${what}, it is refused with the name of the field`, async () => {
        const calls = vendor.asked.length;
        const { error } = await send(version, sent);
        assert.equal(error?.code, -32602);
        assert.ok(error.message.startsWith(`${field}: `), error.message);
        assert.ok(JSON.stringify(error.data).includes(`"field":"${field}"`));
        assert.equal(vendor.asked.length, calls);
      });
    }
  }

  test('data beside text that is no chat-completion goes to the model with the text', async () => {
    await send('1.0', { parts: [{ text: 'How large?' }, { data: { size: 3 } }] });
    assert.ok(JSON.stringify(asked()).includes(String.raw`{\"size\":3}`));
  });
});

describe('settings in the metadata', () => {
  for (const version of ['0.3', '1.0'] as const) {
    test(`${version}: those of the request and of the message have their effect`, async () => {
      const metadata = { model: 'other', temperature: 0, max_tokens: 9, note: 'kept' };
      const { task } = await send(version, { metadata, own: { system: 'Be brief.' } });
      assert.partialDeepStrictEqual(asked(), {
        model: 'other',
        temperature: 0,
        max_tokens: 9,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Weather?' },
        ],
      });
      assert.partialDeepStrictEqual(task, { metadata: { note: 'kept' } });
    });

    const refused = {
      model: [7, 'must be the name of a model'],
      temperature: [2.1, 'must be a number from 0 to 2'],
      max_tokens: [0, 'must be a whole number of at least 1'],
      system: [{}, 'must be text'],
    } as const;
    for (const [field, [value, why]] of Object.entries(refused)) {
      test(`${version}: an invalid ${field} is refused with what is allowed`, async () => {
        const { error } = await send(version, { metadata: { [field]: value } });
        assert.equal(error?.code, -32602);
        assert.equal(error.message, `metadata.${field}: ${why}`);
      });
    }
  }

  test('a setting with another value in the message than in the request is refused', async () => {
    const calls = vendor.asked.length;
    const conflicts = [
      ['temperature', 0.2, 0.9],
      ['model', 'm', 'other'],
      ['api_type', 'chat', 'embeddings'],
      ['agent', 'one', 'two'],
      ['expiresAt', '2099-01-01T00:00:00Z', '2099-01-02T00:00:00Z'],
    ] as const;
    for (const [field, own, requested] of conflicts) {
      const { error } = await send('1.0', {
        metadata: { [field]: requested },
        own: { [field]: own },
      });
      assert.equal(error?.code, -32602, field);
      const why = `the metadata of the request has another ${field}: send only one`;
      assert.equal(error.message, `message.metadata.${field}: ${why}`);
    }
    assert.equal(vendor.asked.length, calls);
    await send('1.0', {
      metadata: { temperature: 0.2, stop: ['END'], note: 'new' },
      own: { temperature: 0.2, stop: ['END'], seed: null, note: 'old' },
    });
    assert.partialDeepStrictEqual(asked(), { temperature: 0.2, stop: ['END'] });
  });

  test('a setting for answers is refused for embeddings', async () => {
    const metadata = { api_type: 'embeddings', model: 'embedder' };
    const { error } = await send('1.0', { metadata: { ...metadata, temperature: 0 } });
    assert.match(error?.message ?? '', /^metadata\.temperature: has no effect on embeddings/);
    const parts = [{ text: 'x' }, { data: { size: 3 } }];
    const refused = await send('1.0', { metadata, parts });
    assert.match(refused.error?.message ?? '', /^message\.parts\.1: must be text/);
  });

  test('the dialect refuses a setting outside the metadata, and says where it belongs', async () => {
    const message = { role: 'user', content: 'Weather?' };
    const post = async (body: object) => {
      const answer = await gateway.ask(key, 'POST', '/a2a/tasks/send', body);
      return [answer.status, ((await answer.json()) as { error: string }).error];
    };
    assert.deepEqual(await post({ message, temperature: 1 }), [
      400,
      'temperature: send it as metadata.temperature',
    ]);
    assert.deepEqual(await post({ message: { ...message, max_tokens: 5 } }), [
      400,
      'message.max_tokens: send it as metadata.max_tokens',
    ]);
    for (const [at, body] of [
      ['messages', { message, messages: [] }],
      ['message.messages', { message: { ...message, messages: [] } }],
    ] as const) {
      const [status, error] = await post(body);
      assert.equal(status, 400);
      assert.ok(String(error).startsWith(`${at}: send it in a part of message.content`), at);
    }
  });
});

test("the agent card's schema of the skill is the one that requests are checked with", async () => {
  const card = (await (await fetch(`${gateway.url}/.well-known/agent.json`)).json()) as {
    defaultInputModes: string[];
    skills: {
      id: string;
      inputModes: string[];
      input: { properties: object; required: string[] };
    }[];
  };
  const skill = card.skills.find(({ id }) => id === 'chat-completion');
  assert.deepEqual(skill?.input.required, ['messages']);
  const { temperature, max_tokens: limit } = skill.input.properties as Record<string, object>;
  assert.deepEqual(temperature, { type: 'number', minimum: 0, maximum: 2 });
  assert.partialDeepStrictEqual(limit, { type: 'integer', minimum: 1 });
  assert.ok(skill.inputModes.includes('application/json'));
  assert.ok(card.defaultInputModes.includes('application/json'));
});

test('the offline model answers in JSON, and refuses a schema with 400', async () => {
  const post = (response_format: object) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    return gateway.ask(key, 'POST', '/v1/chat/completions', {
      model: 'offline',
      messages,
      response_format,
    });
  };
  const answer: unknown = await (await post({ type: 'json_object' })).json();
  const [choice]: unknown[] = Reflect.get(Object(answer), 'choices');
  const { message } = Object(choice);
  assert.match(JSON.parse(message.content).answer, /offline model/);
  const schema = { name: 'a', schema: { type: 'object' } };
  const refused = await post({ type: 'json_schema', json_schema: schema });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /offline model cannot answer with a JSON Schema/);
});
