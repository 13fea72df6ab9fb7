import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type * as z from 'zod';
import * as extension from './index.ts';
import { EXTENSION_URI, type Struct, type ToolCall } from './index.ts';
import { A2AError } from '../errors.ts';

const text = fc.string({ maxLength: 12 });
const id = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme-ascii' });
const struct = fc.dictionary(
  id.filter((key) => key !== '__proto__'),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 3 },
) as fc.Arbitrary<Struct>;

/** A record of required and optional fields, sometimes with an unknown field. */
function record<T extends object>(
  fields: { [Key in keyof T]: fc.Arbitrary<T[Key]> },
  optional: (keyof T)[] = [],
) {
  const requiredKeys = (Object.keys(fields) as (keyof T)[]).filter(
    (key) => !optional.includes(key),
  );
  return fc
    .tuple(fc.record(fields, { requiredKeys }), fc.option(text))
    .map(([known, unknown]) =>
      Object.assign({}, known, unknown !== null && { not_in_the_rfc: unknown }),
    );
}

const fileDiff = record(
  { file_name: text, file_path: text, old_content: text, new_content: text, formatted_diff: text },
  ['old_content', 'formatted_diff'],
);
const toolOutput = fc.oneof(
  record({ text }),
  record({ diff: fileDiff }),
  record({ structured_data: struct }),
);
const errorDetails = record(
  { message: text, type: text, status_code: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) },
  ['type', 'status_code'],
);
const options = fc.array(record({ id, name: text, description: text }, ['description']), {
  minLength: 1,
  maxLength: 4,
});
const confirmationRequest = fc.oneof(
  record({
    options,
    execute_details: record({ command: text, working_directory: text }, ['working_directory']),
  }),
  record({ options, file_edit_details: fileDiff }),
  record({ options, mcp_details: record({ server_name: text, tool_name: text }) }),
  record({ options, generic_details: record({ description: text }) }),
);
const call = { tool_call_id: id, tool_name: text, input_parameters: struct, description: text };
const toolCall = fc.oneof(
  record(
    {
      ...call,
      status: fc.constant('PENDING'),
      confirmation_request: confirmationRequest,
      correlationId: id,
    },
    ['description', 'confirmation_request', 'correlationId'],
  ),
  record({ ...call, status: fc.constant('EXECUTING'), live_content: text }, ['live_content']),
  record({ ...call, status: fc.constant('SUCCEEDED'), output: toolOutput }),
  record({ ...call, status: fc.constant('FAILED'), error: errorDetails }),
  record({ ...call, status: fc.constant('CANCELLED'), error: errorDetails }, ['error']),
);
const command = (subCommands: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  record({
    name: id,
    description: text,
    arguments: fc.array(record({ name: id, description: text, is_required: fc.boolean() }), {
      maxLength: 2,
    }),
    sub_commands: fc.array(subCommands, { maxLength: 2 }),
  });
const slashCommand = command(
  command(command(fc.constant(null)).map((leaf) => Object.assign({}, leaf, { sub_commands: [] }))),
);

const MESSAGES: Record<string, readonly [z.ZodType, fc.Arbitrary<unknown>]> = {
  ToolCall: [extension.ToolCall, toolCall],
  ToolOutput: [extension.ToolOutput, toolOutput],
  ErrorDetails: [extension.ErrorDetails, errorDetails],
  ConfirmationRequest: [extension.ConfirmationRequest, confirmationRequest],
  AgentThought: [extension.AgentThought, record({ subject: text, description: text })],
  DevelopmentToolEvent: [
    extension.DevelopmentToolEvent,
    record(
      {
        kind: fc.constantFrom(...extension.DevelopmentToolEventKind.options),
        model: text,
        user_tier: text,
        error: text,
        correlationId: id,
        source: record({ client: id, name: text }, ['name']),
      },
      ['user_tier', 'error', 'correlationId', 'source'],
    ),
  ],
  AgentSettings: [
    extension.AgentSettings,
    record({ workspace_path: id, autoExecute: fc.boolean() }, ['workspace_path', 'autoExecute']),
  ],
  ToolCallConfirmation: [
    extension.ToolCallConfirmation,
    record(
      {
        tool_call_id: id,
        selected_option_id: id,
        file_details: record({ new_content: text }),
        correlationId: id,
      },
      ['file_details', 'correlationId'],
    ),
  ],
  GetAllSlashCommandsResponse: [
    extension.GetAllSlashCommandsResponse,
    record({ commands: fc.array(slashCommand, { maxLength: 3 }) }),
  ],
  ExecuteSlashCommandRequest: [
    extension.ExecuteSlashCommandRequest,
    record(
      { command_path: fc.array(id, { minLength: 1, maxLength: 3 }), args: text, contextId: id },
      ['contextId'],
    ),
  ],
  ExecuteSlashCommandResponse: [
    extension.ExecuteSlashCommandResponse,
    record(
      {
        execution_id: text,
        status: fc.constantFrom(...extension.CommandExecutionStatus.options),
        message: text,
      },
      ['message'],
    ),
  ],
};

for (const [name, [schema, messages]] of Object.entries(MESSAGES)) {
  test(`${name}: a value survives serialization, unknown fields included`, () => {
    fc.assert(
      fc.property(messages, (message) => {
        const printed: unknown = JSON.parse(JSON.stringify(message));
        assert.deepEqual(schema.parse(printed), printed);
      }),
      { numRuns: 100 },
    );
  });
}

test('exactly one field of a oneof is present', () => {
  const diff = { file_name: 'a', file_path: '/a', new_content: '' };
  const details = {
    execute_details: { command: 'ls' },
    file_edit_details: diff,
    mcp_details: { server_name: 's', tool_name: 't' },
    generic_details: { description: 'd' },
  };
  const results = { text: '', diff, structured_data: {} };
  const some = (fields: object) =>
    fc.subarray(Object.entries(fields)).map((entries) => Object.fromEntries(entries) as object);
  fc.assert(
    fc.property(some(details), some(results), (chosen, result) => {
      const request = { options: [{ id: 'cancel', name: 'No' }], ...chosen };
      const { success } = extension.ConfirmationRequest.safeParse(request);
      assert.equal(success, Object.keys(chosen).length === 1);
      assert.equal(
        extension.ToolOutput.safeParse(result).success,
        Object.keys(result).length === 1,
      );
    }),
  );
});

test('the result of a tool call matches its status, and it asks only while it is pending', () => {
  const base = { tool_call_id: '1', tool_name: 'edit', input_parameters: {} };
  const output = { text: 'done' };
  const error = { message: 'no' };
  const confirmation_request = {
    options: [{ id: 'cancel', name: 'No' }],
    generic_details: { description: 'd' },
  };
  const good: Partial<ToolCall>[] = [
    { status: 'PENDING' },
    { status: 'PENDING', confirmation_request },
    { status: 'EXECUTING', live_content: '…' },
    { status: 'SUCCEEDED', output },
    { status: 'FAILED', error },
    { status: 'CANCELLED' },
    { status: 'CANCELLED', error },
  ];
  const bad: Partial<ToolCall>[] = [
    { status: 'PENDING', output },
    { status: 'EXECUTING', confirmation_request },
    { status: 'EXECUTING', error },
    { status: 'SUCCEEDED' },
    { status: 'SUCCEEDED', error },
    { status: 'SUCCEEDED', output, error },
    { status: 'FAILED' },
    { status: 'FAILED', output },
    { status: 'CANCELLED', output },
  ];
  for (const call of good) assert.ok(extension.ToolCall.safeParse({ ...base, ...call }).success);
  for (const call of bad) {
    const { success } = extension.ToolCall.safeParse({ ...base, ...call });
    assert.equal(success, false, JSON.stringify(call));
  }
});

test("the RFC's own examples are valid", () => {
  const confirmation = { tool_call_id: '…', selected_option_id: 'proceed_once' };
  assert.deepEqual(extension.ToolCallConfirmation.parse(confirmation), confirmation);
  assert.ok(extension.looksLikeConfirmation(confirmation));
  // A part with only one of the fields is a confirmation that lacks the other one.
  assert.ok(extension.looksLikeConfirmation({ tool_call_id: '1' }));
  assert.throws(() => extension.readConfirmation({ tool_call_id: '1' }), /selected_option_id/);
  assert.ok(!extension.looksLikeConfirmation({ tool_call_id: '1', tool_name: 'edit' }));
  assert.deepEqual(
    extension.ExecuteSlashCommandRequest.parse({ command_path: ['memory', 'show'] }),
    {
      command_path: ['memory', 'show'],
      args: '',
    },
  );
});

test('an MCP server has a command or a URL', () => {
  const server = (value: unknown) =>
    extension.AgentSettings.safeParse({ mcpServers: { s: value } }).success;
  assert.ok(server({ command: 'x', args: ['y'] }));
  assert.ok(server({ url: 'https://example.com/mcp', headers: { authorization: 'x' } }));
  for (const wrong of [
    {},
    { command: 'x', url: 'http://x' },
    { type: 'http', command: 'x' },
    { type: 'stdio', url: 'http://x' },
    { type: 'websocket', url: 'http://x' },
    { url: 'file:///x' },
    { command: 'x', arg: [] },
  ]) {
    assert.equal(server(wrong), false, JSON.stringify(wrong));
  }
});

test('MCP servers are accepted as other products write them, and converted to one form', () => {
  const url = 'https://example.com/mcp';
  const headers = { Authorization: 'Bearer ${TOKEN}' };
  const forms: [given: object, meant: object][] = [
    [
      { type: 'stdio', command: 'npx', args: ['x'], env: { A: '1' } },
      { command: 'npx', args: ['x'], env: { A: '1' } },
    ],
    [
      { type: 'http', url, headers },
      { url, headers },
    ],
    [{ type: 'streamable-http', url }, { url }],
    [{ type: 'streamableHttp', url }, { url }],
    [
      { type: 'sse', url },
      { type: 'sse', url },
    ],
    [
      { httpUrl: url, timeout: 5000, trust: true },
      { url, timeoutMs: 5000 },
    ],
    [
      { serverUrl: url, disabled: false, timeout: 60 },
      { url, timeoutMs: 60_000, disabled: false },
    ],
    [{ url: '${BASE:-https://example.com}/mcp' }, { url: '${BASE:-https://example.com}/mcp' }],
    [
      { command: 'x', enabled: false, autoApprove: [] },
      { command: 'x', disabled: true },
    ],
    [
      { command: 'x', includeTools: ['a'], excludeTools: ['b'], description: 'X' },
      { command: 'x', includeTools: ['a'], excludeTools: ['b'] },
    ],
  ];
  for (const [given, meant] of forms) {
    assert.deepEqual(extension.McpServers.parse({ s: given }), { s: meant }, JSON.stringify(given));
    assert.deepEqual(extension.McpServers.parse({ s: meant }), { s: meant });
  }
});

test('the name of an MCP server never contains the separator of tool names', () => {
  const names = (...given: string[]) => {
    const servers = Object.fromEntries(given.map((name) => [name, { command: 'x' }]));
    const { data } = extension.McpServers.safeParse(servers);
    return data && Object.keys(data);
  };
  assert.deepEqual(names('my_files.v-2'), ['my_files.v-2']);
  assert.deepEqual(names('a__b', '_c', 'd/e', 'my server', '@21st-dev/magic', '日本'), [
    'a-b',
    'c',
    'd-e',
    'my-server',
    '21st-dev-magic',
    'server',
  ]);
  assert.equal(names('a b', 'a-b'), undefined);
});

const uri = (version: string) => EXTENSION_URI.replace('/v0/', `/${version}/`);

test('the version is read from the URI, and the same major number is compatible', () => {
  assert.equal(extension.majorVersion(EXTENSION_URI), 0);
  assert.equal(extension.majorVersion(uri('v1.2')), 1);
  assert.equal(extension.majorVersion(uri('v2.0.13-rc.1+build')), 2);
  for (const other of [
    '',
    'https://example.com/v0/spec.md',
    uri('0'),
    uri('v00'),
    uri('v0.1.2.3'),
    `${EXTENSION_URI}?`,
  ]) {
    assert.equal(extension.majorVersion(other), undefined, other);
  }
  for (const version of ['v0', 'v0.1', 'v0.9.3', 'v0.1.0-beta'])
    assert.ok(extension.isCompatible(uri(version)));
  for (const version of ['v1', 'v1.0.0', 'v10', 'v'])
    assert.ok(!extension.isCompatible(uri(version)));
});

test('an unsupported version is refused with an error that names the supported one', () => {
  extension.refuseIncompatible([EXTENSION_URI, 'https://example.com/other/v7']);
  assert.throws(
    () => extension.refuseIncompatible([uri('v1.4')]),
    (error: unknown) => {
      assert.ok(error instanceof A2AError);
      assert.equal(error.code, -32008);
      assert.ok(error.message.includes('Version 1') && error.message.includes(EXTENSION_URI));
      assert.deepEqual(error.detail.info, { requested: uri('v1.4'), served: EXTENSION_URI });
      return true;
    },
  );
});

test('settings and events are found in metadata under the URI of a compatible version', () => {
  const settings = { workspace_path: '/w' };
  const event = { kind: 'STATE_CHANGE', model: 'offline' } as const;
  assert.deepEqual(extension.settingsIn(extension.extensionMetadata(settings)), settings);
  assert.deepEqual(extension.eventIn(extension.extensionMetadata(event)), event);
  assert.deepEqual(extension.settingsIn({ [uri('v0.2')]: settings, other: 1 }), settings);
  for (const none of [undefined, {}, { other: settings }]) {
    assert.equal(extension.settingsIn(none), undefined);
    assert.equal(extension.eventIn(none), undefined);
  }
  assert.equal(extension.settingsIn(extension.extensionMetadata(event)), undefined);
  assert.equal(extension.settingsIn({ [EXTENSION_URI]: { client: 'phone' } }), undefined);
  assert.equal(extension.settingsIn({ [EXTENSION_URI]: {} }), undefined);
  const named = { client: 'phone', ...settings };
  assert.deepEqual(extension.settingsIn({ [EXTENSION_URI]: named }), named);
  assert.throws(() => extension.settingsIn({ [uri('v2')]: settings }), {
    kind: 'extensionRequired',
  });
  assert.throws(() => extension.settingsIn({ [EXTENSION_URI]: { workspace_path: 1 } }), {
    kind: 'invalidParams',
    message: /AgentSettings: workspace_path/,
  });
});
