import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellCall } from '../../../test/tui/demo.ts';
import { ScriptedSession } from '../../../test/tui/scripted-session.ts';
import { textOfLine } from '../../display/index.ts';
import * as renderers from './renderers.ts';
import { fittedRequest, wholeRequest } from './request-lines.ts';

test('the note in a very long command does not split a character', () => {
  const { self } = new ScriptedSession();
  const view = { width: 80, renderers, self, clients: [], plain: false, spinner: '' };
  const command = `x${'😀'.repeat(60_000)}x`;
  const request = { options: [], execute_details: { command } };
  const call = { ...shellCall('s', command), confirmation_request: request };
  const { lines, whole } = fittedRequest(call, view, Infinity, false);
  const text = lines.map(textOfLine).join('\n');
  assert.ok(text.includes('[… 20004 characters left out …]'));
  assert.ok(text.isWellFormed());
  assert.equal(whole, false);
});

test('a change of the mode alone is shown, in the dialog and with --plain', () => {
  const { self } = new ScriptedSession();
  const formatted_diff = 'diff --git a/a b/a\nold mode 100644\nnew mode 100755\n';
  const file = { file_name: 'a', file_path: '/p/a', old_content: 'x', new_content: 'x' };
  const request = { options: [], file_edit_details: { ...file, formatted_diff } };
  const call = { ...shellCall('s', ''), tool_name: 'apply_patch', confirmation_request: request };
  for (const plain of [false, true]) {
    const view = { width: 80, renderers, self, clients: [], plain, spinner: '' };
    const fitted = fittedRequest(call, view, 3, true);
    assert.equal(fitted.whole, true);
    const modes = ['old mode 100644', 'new mode 100755'];
    assert.deepEqual(fitted.lines.map(textOfLine), ['/p/a', ...modes]);
    assert.deepEqual(wholeRequest(call, view).map(textOfLine), ['/p/a', ...modes]);
  }
});
