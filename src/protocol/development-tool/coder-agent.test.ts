import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamEvent } from '../task.ts';
import {
  answerData,
  coderAgentSettings,
  createCoderAgentReader,
  readCoderAgentAnswer,
  readCoderAgentCall,
} from './coder-agent.ts';
import { selectedOption } from './call-checks.ts';
import { looksLikeConfirmation, readConfirmation } from './confirmation.ts';

const request = { callId: 'c1', name: 'write_file', args: { file_path: '/w/a.txt' } };

function asked(confirmationDetails: object) {
  return readCoderAgentCall({ request, status: 'awaiting_approval', confirmationDetails });
}

test('each type of confirmationDetails becomes the details that the extension has for it', () => {
  const edit = { type: 'edit', title: 'Write', fileName: 'a.txt', filePath: '/w/a.txt' };
  const texts = { fileDiff: '+a', originalContent: null, newContent: 'a' };
  assert.deepEqual(asked({ ...edit, ...texts })?.confirmation_request?.file_edit_details, {
    file_name: 'a.txt',
    file_path: '/w/a.txt',
    new_content: 'a',
    formatted_diff: '+a',
  });
  const exec = asked({ type: 'exec', title: 'Run', command: 'ls', rootCommand: 'ls' });
  assert.deepEqual(exec?.confirmation_request?.execute_details, { command: 'ls' });
  const mcp = asked({ type: 'mcp', title: 'Call', serverName: 's', toolName: 't' });
  assert.deepEqual(mcp?.confirmation_request?.mcp_details, { server_name: 's', tool_name: 't' });
  assert.deepEqual(
    mcp.confirmation_request.options.map(({ id }) => id),
    ['proceed_once', 'proceed_always_tool', 'proceed_always_server', 'cancel'],
  );
  const info = asked({ type: 'info', title: 'Fetch', prompt: 'https://example.com' });
  const text = info?.confirmation_request?.generic_details?.description;
  assert.equal(text, 'https://example.com');
  // A type that is not known is still a question.
  assert.equal(asked({ type: 'plan' })?.confirmation_request?.generic_details?.description, 'plan');
});

test('the result of a call is its text, its diff or its error', () => {
  const ended = (status: string, response: object) =>
    readCoderAgentCall({ request, status, response });
  assert.deepEqual(ended('success', { resultDisplay: 'ok' })?.output, { text: 'ok' });
  const diff = { fileName: 'a.txt', filePath: '/w/a.txt', fileDiff: '+a', newContent: 'a' };
  assert.equal(ended('success', { resultDisplay: diff })?.output?.diff?.new_content, 'a');
  const failed = ended('error', { resultDisplay: 'no such file', error: {}, errorType: 'enoent' });
  assert.deepEqual(failed?.error, { message: 'no such file', type: 'enoent' });
  assert.equal(ended('cancelled', {})?.status, 'CANCELLED');
});

test('hostile calls are not read', () => {
  const bad = [
    null,
    [],
    { request: {} },
    { request, status: 'done' },
    { request: { ...request, callId: 'x'.repeat(300) }, status: 'executing' },
  ];
  for (const each of bad) assert.equal(readCoderAgentCall(each), undefined);
});

test('an answer goes back in the dialect of its call', () => {
  const call = asked({ type: 'exec', command: 'ls' })!;
  assert.deepEqual(answerData(call, 'cancel'), { callId: 'c1', outcome: 'cancel' });
  const { status, tool_name, input_parameters } = call;
  const own = { tool_call_id: 'c2', status, tool_name, input_parameters };
  const data = { tool_call_id: 'c2', selected_option_id: 'cancel' };
  assert.deepEqual(answerData(own, 'cancel'), data);
  // The id of the request is sent back, so that the answer cannot be taken for an answer to a later request.
  const again = { ...own, correlationId: 'r1' };
  assert.deepEqual(answerData(again, 'cancel'), { ...data, correlationId: 'r1' });
});

test('an answer is a confirmation; its content selects "modify", and a misspelt one is refused', () => {
  const { tool_call_id, selected_option_id } = readCoderAgentAnswer({
    callId: 'c1',
    outcome: 'proceed_once',
    kind: 'ignored',
  });
  assert.deepEqual([tool_call_id, selected_option_id], ['c1', 'proceed_once']);
  const other = readConfirmation({ callId: 'c1', outcome: 'proceed_once', newContent: 'b' });
  assert.equal(other.selected_option_id, 'modify');
  assert.deepEqual(other.file_details, { new_content: 'b' });
  const rejected = readConfirmation({ callId: 'c1', outcome: 'cancel', newContent: 'b' });
  assert.deepEqual([rejected.selected_option_id, rejected.file_details], ['cancel', undefined]);
  const misspelt = { callId: 'c1', outcome: 'proceed_once', new_content: 'b' };
  assert.throws(() => readConfirmation(misspelt), /use newContent/);
  const both = { callId: 'c1', outcome: 'proceed_once', tool_call_id: 'c2' };
  assert.ok(looksLikeConfirmation(both));
  assert.throws(() => readConfirmation(both), /unknown field callId/);
});

test('only an answer of this dialect is narrowed to this call', () => {
  const options = [
    { id: 'proceed_once', name: 'Allow once' },
    { id: 'cancel', name: 'Reject' },
  ];
  const always = { callId: 'c1', outcome: 'proceed_always' };
  assert.equal(selectedOption(readConfirmation(always), options), 'proceed_once');
  const own = { tool_call_id: 'c1', selected_option_id: 'proceed_always' };
  assert.equal(selectedOption(readConfirmation(own), options), 'proceed_always');
  const unknown = readConfirmation({ callId: 'c1', outcome: 'yes' });
  assert.equal(selectedOption(unknown, options), 'yes');
});

test('settings are read, and wrong ones refused', () => {
  const settings = (coderAgent: unknown) => coderAgentSettings({ coderAgent });
  assert.deepEqual(
    settings({ kind: 'agent-settings', workspacePath: '/w', autoExecute: false, isTrusted: true }),
    { workspace_path: '/w', autoExecute: false },
  );
  assert.equal(settings({ kind: 'text-content' }), undefined);
  assert.equal(settings('agent-settings'), undefined);
  assert.throws(() => settings({ kind: 'agent-settings', workspacePath: 7 }), /workspacePath/);
});

test('the updates of a call do not make the task wait again; the pieces of a text are no repetitions', () => {
  const read = createCoderAgentReader();
  const update = (kind: string, state: 'input-required' | 'working', id: string): StreamEvent => ({
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    status: {
      state,
      message: {
        kind: 'message',
        role: 'agent',
        messageId: id,
        parts: [{ kind: 'text', text: id }],
      },
    },
    final: false,
    metadata: { coderAgent: { kind } },
  });
  const seen = [
    update('tool-call-update', 'input-required', 'a'),
    update('text-content', 'working', 'b'),
    update('text-content', 'working', 'b'),
    update('text-content', 'working', 'c'),
  ].map((event) => {
    const shown = read(event);
    return shown.kind === 'status-update' && [shown.status.state, shown.status.message?.messageId];
  });
  assert.deepEqual(seen, [
    ['working', 'a'],
    ['working', 'b'],
    ['working', 'b/1'],
    ['working', 'c'],
  ]);
});
