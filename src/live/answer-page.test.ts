import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileDiff } from '../coder/files/show-diff.ts';
import type { ToolCall } from '../protocol/development-tool/index.ts';
import { callPage } from './answer-page.ts';

const OPTIONS = [
  { id: 'proceed_once', name: 'Allow once' },
  { id: 'cancel', name: 'Reject' },
];

function actionsFor(after: Buffer): string[] {
  const diff = fileDiff({ path: '/w/a', before: undefined, after }, (path) => path);
  const call: ToolCall = {
    tool_call_id: 'c1',
    status: 'PENDING',
    tool_name: 'write_file',
    input_parameters: {},
    confirmation_request: { options: OPTIONS, file_edit_details: diff },
  };
  const { text = '' } = callPage(
    call,
    OPTIONS.map(({ id, name }) => ({ id, name, action: id })),
  );
  return [...text.matchAll(/action="(\w+)"/g)].map(([, id = '']) => id);
}

test('a link allows a change only if the page shows its whole content', () => {
  assert.deepEqual(actionsFor(Buffer.from('a\nb\n')), ['proceed_once', 'cancel']);
  assert.deepEqual(actionsFor(Buffer.from('a\0b\n')), ['cancel']);
  assert.deepEqual(actionsFor(Buffer.from('a\n'.repeat(40_000))), ['cancel']);
});
