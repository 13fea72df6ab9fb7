import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ToolCall } from '../protocol/development-tool/index.ts';
import { toolView } from './tool-view.ts';

function call(more: Partial<ToolCall>): ToolCall {
  return {
    tool_call_id: 'c1',
    status: 'PENDING',
    tool_name: 'other_tool',
    input_parameters: {},
    ...more,
  };
}

function textOf(more: Partial<ToolCall>): string {
  const [content] = toolView(call(more), '/work').content;
  return content?.type === 'content' && content.content.type === 'text' ? content.content.text : '';
}

test('each built-in tool has a kind, and all others have the kind other', () => {
  const kinds = Object.entries({
    read_file: 'read',
    list_directory: 'read',
    glob: 'search',
    search: 'search',
    write_file: 'edit',
    edit: 'edit',
    apply_patch: 'edit',
    run_shell_command: 'execute',
    fetch_url: 'fetch',
    task: 'think',
    ask_user: 'other',
    github__search: 'other',
  });
  for (const [tool_name, kind] of kinds) {
    assert.equal(toolView(call({ tool_name }), '/work').kind, kind, tool_name);
  }
});

test('the title names a sub-agent, and falls back to the name of the tool', () => {
  assert.equal(toolView(call({}), '/work').title, 'other_tool');
  const view = toolView(call({ description: 'Read a.ts', agent: 'scout' }), '/work');
  assert.equal(view.title, 'scout: Read a.ts');
});

test('output can never close its code fence', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('`', 'a', '\n') }), (text) => {
      const shown = textOf({
        tool_name: 'run_shell_command',
        status: 'SUCCEEDED',
        output: { text },
      });
      const [fence = ''] = /^`+/.exec(shown) ?? [];
      const inside = shown.slice(fence.length + 1, -fence.length);
      assert.ok(shown.endsWith(fence) && !inside.includes(fence));
      assert.equal(inside.replace(/\n$/, ''), text.replace(/\n$/, ''));
    }),
  );
});

test('structured output is shown as JSON, and also returned as raw output', () => {
  const output = { structured_data: { open: 2 } };
  assert.equal(textOf({ status: 'SUCCEEDED', output }), '```json\n{\n  "open": 2\n}\n```');
  const view = toolView(call({ status: 'SUCCEEDED', output }), '/work');
  assert.deepEqual(view.rawOutput, { open: 2 });
});

test('an error is shown, for a failed call and for a declined one', () => {
  for (const status of ['FAILED', 'CANCELLED'] as const) {
    const view = toolView(call({ status, error: { message: 'no' } }), '/work');
    assert.equal(view.status, 'failed');
    assert.deepEqual(view.rawOutput, { error: 'no' });
    assert.equal(textOf({ status, error: { message: 'no' } }), 'no');
  }
});

test('a new file has no old text', () => {
  const file_edit_details = { file_name: 'a', file_path: '/project/a', new_content: 'x' };
  const confirmation_request = { options: [{ id: 'cancel', name: 'Reject' }], file_edit_details };
  const { content, locations } = toolView(call({ confirmation_request }), '/work');
  assert.deepEqual(content, [{ type: 'diff', path: '/project/a', oldText: null, newText: 'x' }]);
  assert.deepEqual(locations, [{ path: '/project/a' }]);
});

test('a change of the mode or the path is text before the diff, when it is asked for and when it is done', () => {
  const formatted_diff = 'diff --git a/a b/a\nold mode 100644\nnew mode 100755\n';
  const diff = { file_name: 'a', file_path: '/p/a', old_content: 'x', new_content: 'x' };
  const file_edit_details = { ...diff, formatted_diff };
  const expected = [
    {
      type: 'content',
      content: { type: 'text', text: '```diff\nold mode 100644\nnew mode 100755\n```' },
    },
    { type: 'diff', path: '/p/a', oldText: 'x', newText: 'x' },
  ];
  const confirmation_request = { options: [{ id: 'cancel', name: 'Reject' }], file_edit_details };
  const done = { status: 'SUCCEEDED', output: { diff: file_edit_details } } as const;
  for (const each of [{ confirmation_request }, done]) {
    assert.deepEqual(toolView(call(each), '/p').content, expected);
  }
});

test('a request shows its details: a patch of several files, an MCP tool, a sentence', () => {
  const options = [{ id: 'cancel', name: 'Reject' }];
  const ask = (details: object) => ({ confirmation_request: { options, ...details } });
  const generic_details = { description: '-a\n+b' };
  assert.equal(
    textOf({ tool_name: 'apply_patch', ...ask({ generic_details }) }),
    '```diff\n-a\n+b\n```',
  );
  assert.equal(textOf(ask({ generic_details: { description: 'Which?' } })), 'Which?');
  const mcp_details = { server_name: 'github', tool_name: 'search' };
  assert.equal(textOf(ask({ mcp_details })), 'search (MCP server github)');
});

test('a text with very many code fences is put in a code block', () => {
  const text = '```\n'.repeat(200_000);
  const shown = textOf({ tool_name: 'read_file', status: 'SUCCEEDED', output: { text } });
  assert.equal(shown, `\`\`\`\`\n${text}\`\`\`\``);
});
