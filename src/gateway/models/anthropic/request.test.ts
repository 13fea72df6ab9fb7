import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { A2AError } from '../../../protocol/index.ts';
import { messagesRelay } from './relay.ts';
import { inputOf, messagesRequest } from './request.ts';
import { MessagesBody } from './schema.ts';
import { decodeCarried, encodeCarried } from '../vendor-api/carried.ts';

const base = { model: 'm', max_tokens: 4096, messages: [{ role: 'user', content: 'Hello' }] };

function converted(more: object) {
  return messagesRequest(MessagesBody.parse({ ...base, ...more }), { strict: true });
}

describe('A request of a client of Anthropic', () => {
  test('has the system text without the text that Claude Code adds for Anthropic, and later ones at their place', () => {
    const { system, messages } = converted({
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.0;' },
        { type: 'text', text: 'You are brief.', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'system', content: 'The file a.txt has changed.' },
      ],
    });
    assert.equal(system, 'You are brief.');
    const texts = ['Hello', '<system>\nThe file a.txt has changed.\n</system>'];
    assert.deepEqual(messages, [
      { role: 'user', parts: texts.map((text) => ({ kind: 'text', text })) },
    ]);
  });

  test('has the tools that system messages have added, without those that they have removed', () => {
    const input_schema = { type: 'object' };
    const tool = (name: string) => ({ name, input_schema, defer_loading: true });
    const change = (type: string, changed: object) => ({
      role: 'system',
      content: [{ type, tool: changed }],
    });
    const reference = (name: string) => ({ type: 'tool_reference', name });
    const { tools = [], messages } = converted({
      tools: [tool('a'), tool('b'), tool('c')],
      messages: [
        ...base.messages,
        change('tool_addition', { type: 'tool_definition', definition: tool('d') }),
        change('tool_removal', reference('a')),
        change('tool_removal', reference('b')),
        change('tool_addition', reference('b')),
        { role: 'system', output_config: { effort: 'low' } },
      ],
    });
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['b', 'c', 'd'],
    );
    assert.equal(messages.length, 1);
  });

  test('joins consecutive messages of the same role', () => {
    const messages = ['one', 'two'].map((content) => ({ role: 'user', content }));
    assert.equal(converted({ messages }).messages.length, 1);
  });

  test('says how much the model thinks', () => {
    const thinking = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });
    const levelOf = (more: object) => converted(more).reasoning;
    assert.deepEqual(
      [1024, 8000, 32_000].map((each) => levelOf(thinking(each))),
      ['low', 'medium', 'high'],
    );
    assert.equal(
      levelOf({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }),
      'max',
    );
    assert.equal(
      levelOf({ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }),
      undefined,
    );
    assert.equal(converted({ thinking: { type: 'adaptive' } }).thoughts, true);
    assert.equal(converted({}).thoughts, undefined);
  });

  test('leaves out what is Anthropic’s default, because some models refuse every temperature or effort', () => {
    assert.equal(converted({ output_config: { effort: 'high' } }).reasoning, undefined);
    assert.equal(converted({ temperature: 1 }).temperature, undefined);
    assert.equal(converted({ temperature: 0.5 }).temperature, 0.5);
    assert.equal(converted({ top_k: 5 }).topK, 5);
  });

  test('is refused with the name of a field or block that only Anthropic supports', () => {
    const fields = (more: object): string | undefined => {
      try {
        converted(more);
      } catch (error) {
        return error instanceof A2AError ? error.detail.violations?.[0]?.field : undefined;
      }
      return undefined;
    };
    const content = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });
    assert.equal(fields({ container: 'c1' }), 'container');
    assert.equal(fields({ max_tokens: 0 }), 'max_tokens');
    assert.equal(fields({ mcp_servers: [{ name: 'a' }] }), 'mcp_servers');
    assert.equal(fields({ mcp_servers: [] }), undefined);
    assert.equal(fields({ tools: [{ type: 'bash_20250124', name: 'bash' }] }), 'tools.0');
    assert.equal(fields({ tool_choice: { type: 'any' } }), 'tool_choice');
    assert.equal(fields(content({ type: 'container_upload' })), 'messages.0.content.0.type');
    assert.equal(fields(content({ type: 'text' })), 'messages.0.content.0.text');
    assert.equal(
      fields(content({ type: 'image', source: { type: 'file', file_id: 'f' } })),
      'messages.0.content.0.source.type',
    );
    const result = { type: 'tool_result', tool_use_id: 't1', content: 'x' };
    assert.equal(fields(content(result)), 'messages.0.content.0.tool_use_id');
  });

  test('is counted even if only Anthropic can process it', () => {
    const messages = [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }];
    const body = MessagesBody.parse({ ...base, messages, tools: [{ type: 'bash_20250124' }] });
    const [content] = inputOf(body, { strict: false }).messages;
    assert.equal(content?.parts[0]?.kind, 'data');
  });
});

test('a signature carries only the data of vendors that belongs there', () => {
  const google = { thoughtSignature: 'c2ln' };
  assert.deepEqual(decodeCarried(encodeCarried({ provider: { google } }))?.provider, { google });
  const forged = { google: { ...google, cachedContent: 'x' }, anthropic: { cacheControl: {} } };
  const text = Buffer.from(JSON.stringify(forged)).toString('base64url');
  assert.deepEqual(decodeCarried(`parley.${text}`)?.provider, { google });
  for (const bad of ['parley.', 'parley.e30', 'parley.!!', 'EqQBCgIYAhIM', '']) {
    assert.equal(decodeCarried(bad), undefined);
  }
});

describe('A relayed request', () => {
  const input = { header: () => undefined, query: {} };
  const sent = (more: object, maxTokens: number) =>
    messagesRelay(MessagesBody.parse({ ...base, ...more }), input).body('vendor-name', maxTokens);

  test('has fewer tokens for thoughts if a budget has lowered its limit', () => {
    const thinking = { type: 'enabled', budget_tokens: 3000 };
    assert.partialDeepStrictEqual(sent({ thinking }, 4096), { max_tokens: 4096, thinking });
    assert.partialDeepStrictEqual(sent({ thinking }, 2000), {
      max_tokens: 2000,
      thinking: { type: 'enabled', budget_tokens: 1999 },
    });
    assert.partialDeepStrictEqual(sent({ thinking }, 500), {
      max_tokens: 500,
      thinking: { type: 'disabled' },
    });
  });

  test('may only fill the vendor’s cache', () => {
    const thinking = { type: 'enabled', budget_tokens: 3000 };
    const filling = { ...base, max_tokens: 0 };
    assert.deepEqual(sent(filling, 0), { ...filling, model: 'vendor-name' });
    assert.deepEqual(sent({ ...filling, thinking }, 0), {
      ...filling,
      thinking,
      model: 'vendor-name',
    });
  });

  test('is counted with the tokens that the vendor’s cache wrote and read', () => {
    const relay = messagesRelay(MessagesBody.parse({ ...base, stream: true }), input);
    const usage = {
      input_tokens: 3,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 20,
      output_tokens: 1,
    };
    const message = { model: 'vendor-name', usage };
    relay.read({ type: 'message_start', message });
    assert.equal(message.model, 'm');
    const delta = { stop_reason: 'max_tokens' };
    const last = relay.read({ type: 'message_delta', delta, usage: { output_tokens: 9 } });
    assert.deepEqual(last.usage, { inputTokens: 123, outputTokens: 9, cachedTokens: 20 });
    assert.equal(relay.read({ type: 'message_stop' }).end, 'length');
  });
});
