import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellCall } from '../../../test/tui/demo.ts';
import { ScriptedSession } from '../../../test/tui/scripted-session.ts';
import { textOfLine } from '../../display/index.ts';
import * as renderers from './renderers.ts';
import { fittedRequest } from './request-lines.ts';

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
