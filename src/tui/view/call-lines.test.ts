import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellCall } from '../../../test/tui/demo.ts';
import { TERMINAL } from '../../../test/tui/scripted-session.ts';
import type { ErrorDetails, ToolCall } from '../../protocol/development-tool/index.ts';
import { textOfLine } from '../../display/index.ts';
import { callLines } from './entry-lines.ts';
import * as renderers from './renderers.ts';

function shown(more: Partial<ToolCall>, plain = true): string[] {
  const call = { ...shellCall('c', 'npm test'), confirmation_request: undefined, ...more };
  const entry = { kind: 'call', id: 1, gap: false, done: true, call } as const;
  const view = { width: 60, renderers, plain, spinner: '*', self: TERMINAL, clients: [] };
  return callLines(entry, view).map((line) => textOfLine(line).trim());
}

const failed = (error: ErrorDetails): Partial<ToolCall> => ({ status: 'FAILED', error });

test('a call without a request waits for its turn', () => {
  const [line] = shown({ status: 'PENDING' }, false);
  assert.match(line!, /^· .*npm test  waiting for its turn$/);
  assert.match(shown({ status: 'PENDING' })[0]!, /^Tool, waiting for its turn: .*npm test$/);
});

test('a command that failed has its exit code beside its title, and the end of its output below', () => {
  const output = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n');
  const error = { type: 'exit_code', status_code: 3, message: `exit code 3\n${output}\n` };
  const [title, ...lines] = shown(failed(error));
  assert.match(title!, /^Tool, failed: .*npm test  exit code 3$/);
  assert.equal(lines.at(-1), 'line 19');
  assert.ok(lines.length <= 6);
});

test('another error is below the title, from its beginning', () => {
  const [title, line] = shown(failed({ type: 'not_found', message: 'a.txt does not exist' }));
  assert.match(title!, /npm test$/);
  assert.equal(line, 'a.txt does not exist');
});

test('a call that was stopped is not shown as declined', () => {
  const stopped = { type: 'stopped', message: 'stopped by the user: this call was not run' };
  assert.match(shown({ status: 'CANCELLED', error: stopped })[0]!, /^Tool, stopped: /);
  const declined = { type: 'declined', message: 'this call was declined' };
  assert.match(shown({ status: 'CANCELLED', error: declined })[0]!, /^Tool, declined: /);
});

test('a form that was answered is named by its first line', () => {
  const description =
    'The MCP server a asks: Who?\n- name: text\nAnswer with a line for each field.';
  const form = { tool_name: 'elicitation', description, status: 'SUCCEEDED' } as const;
  assert.equal(shown(form)[0], 'Tool, done: The MCP server a asks: Who? …');
});
