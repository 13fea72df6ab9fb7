import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCoderAgentCall, ToolCall } from '../../protocol/development-tool/index.ts';
import { coderAgentCall } from './call.ts';

const OPTIONS = [
  { id: 'proceed_once', name: 'Allow once' },
  { id: 'cancel', name: 'Reject' },
];
const DIFF = {
  file_name: 'a.txt',
  file_path: '/w/a.txt',
  new_content: 'b\n',
  old_content: 'a\n',
  formatted_diff: '-a\n+b\n',
};
const CALL = {
  tool_call_id: 'c1',
  tool_name: 'write_file',
  description: 'Write a.txt',
  input_parameters: { path: 'a.txt', content: 'b\n' },
} as const;

const asks = (details: object) => ({
  ...CALL,
  status: 'PENDING',
  confirmation_request: { options: OPTIONS, ...details },
});

const CALLS: Readonly<Record<string, object>> = {
  'waits for its turn': { ...CALL, status: 'PENDING' },
  'asks for a command': asks({ execute_details: { command: 'ls -l | wc' } }),
  'asks for an edit': asks({ file_edit_details: DIFF }),
  'asks for a tool of a server': asks({ mcp_details: { server_name: 's', tool_name: 't' } }),
  'runs, with output': { ...CALL, status: 'EXECUTING', live_content: 'so far' },
  'has a text': { ...CALL, status: 'SUCCEEDED', output: { text: 'done' } },
  'has a diff': { ...CALL, status: 'SUCCEEDED', output: { diff: DIFF } },
  'has failed': { ...CALL, status: 'FAILED', error: { message: 'no', type: 'tool_error' } },
  'was rejected': { ...CALL, status: 'CANCELLED', error: { message: 'no', type: 'declined' } },
};

for (const [what, value] of Object.entries(CALLS)) {
  test(`a call that ${what} is read as it was written`, () => {
    const call = ToolCall.parse(value);
    const { description, ...rest } = call;
    const sent: unknown = JSON.parse(JSON.stringify(coderAgentCall(call)));
    const read = readCoderAgentCall(sent);
    const title = call.confirmation_request && { description };
    assert.deepEqual(read, { dialect: 'coderAgent', ...rest, ...title });
  });
}

test('what has no type of its own is asked with everything that is approved', () => {
  const input_parameters = { url: 'https://example.com/?a=1', secret: 'not told' };
  const generic_details = { description: 'Fetch https://example.com/?a=1' };
  const call = ToolCall.parse({ ...asks({ generic_details }), input_parameters });
  const { confirmationDetails } = coderAgentCall(call);
  const { type, prompt, options } = confirmationDetails as Record<string, unknown>;
  assert.equal(type, 'info');
  assert.equal(prompt, 'Fetch https://example.com/?a=1\nsecret: "not told"');
  assert.deepEqual(options, OPTIONS);
});
