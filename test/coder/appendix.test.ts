/** The exchange in the appendix of the development-tool extension's specification, event for event. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { extensionMetadata } from '../../src/protocol/development-tool/index.ts';
import {
  callIn,
  confirmation,
  makePlace,
  outline,
  startCoder,
  stream,
  userMessage,
} from './support.ts';

test('a file is written as the appendix has it', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, {
    script: [
      [{ call: { name: 'write_file', args: { path: 'hello.txt', content: 'hello\n' } } }],
      [{ text: 'I have written hello.txt.' }],
      [{ text: 'Nothing more to do.' }],
    ],
  });
  const metadata = extensionMetadata({ workspace_path: place.workspace });
  const first = await stream(url, userMessage('write a greeting', { metadata }));
  assert.deepEqual(first.map(outline), [
    'task submitted',
    'STATE_CHANGE working',
    'TOOL_CALL_UPDATE PENDING',
    'STATE_CHANGE input-required final',
  ]);
  const [task] = first;
  assert.ok(task?.kind === 'task');
  const call = callIn(first[2]!);
  assert.deepEqual(
    call?.confirmation_request?.options.map(({ id }) => id),
    [
      'proceed_once',
      'proceed_always',
      'proceed_always_tool',
      'proceed_always_and_save',
      'modify',
      'cancel',
    ],
  );
  assert.equal(call.confirmation_request.file_edit_details?.new_content, 'hello\n');
  assert.equal(existsSync(join(place.workspace, 'hello.txt')), false);

  const answer = { tool_call_id: call.tool_call_id, selected_option_id: 'proceed_once' };
  const second = await stream(url, confirmation(task.id, answer));
  assert.deepEqual(second.map(outline), [
    'TOOL_CALL_UPDATE EXECUTING',
    'TOOL_CALL_UPDATE SUCCEEDED',
    'TEXT_CONTENT',
    'STATE_CHANGE completed final',
  ]);
  assert.equal(readFileSync(join(place.workspace, 'hello.txt'), 'utf8'), 'hello\n');

  const third = await stream(url, userMessage('anything else?', { taskId: task.id }));
  assert.deepEqual(third.map(outline), [
    'STATE_CHANGE working',
    'TEXT_CONTENT',
    'STATE_CHANGE completed final',
  ]);
});
