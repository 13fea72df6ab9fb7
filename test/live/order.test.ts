// A call that waits for its turn and a command that fails, on the screen, on the WebSocket, in an editor and in the
// flat API.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import type { ToolCall } from '../../src/protocol/development-tool/index.ts';
import { editorAt } from '../acp/support.ts';
import { say as flatSay } from '../coder/flat-support.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { startShared } from './program.ts';
import { RawClient, type Frame } from './raw-client.ts';

const shell = (command: string): ScriptedResponse => [
  { call: { name: 'run_shell_command', args: { command } } },
];
const done: ScriptedResponse = [{ text: 'All done.' }];
const FAILS = 'for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; exit 3';

function callIn({ method, params }: Frame): ToolCall | undefined {
  if (method !== 'tasks/event') return undefined;
  return params.event.status?.message?.parts?.[0]?.data;
}

test('a call waits for its turn where everybody sees it, and a command that fails says so', async (t) => {
  const wait = 'until [ -e go ]; do sleep 0.02; done';
  const { terminal, ws, say, workspace } = await startShared(t, {
    script: [[...shell(wait), ...shell(`touch after; ${FAILS}`)], done],
    args: ['--approval', 'yolo'],
  });
  const raw = new RawClient(t, ws);
  await raw.opened;
  await raw.snapshot();
  const editor = await editorAt(t, ws);
  await editor.open();
  say('two commands');
  await terminal.sees(/Run until[^]*· Run touch after.*\n?.*waiting for its turn/);
  const waits = await raw.frame((frame) => /touch after/.test(callIn(frame)?.description ?? ''));
  const second = callIn(waits)!;
  assert.deepEqual([second.status, second.confirmation_request], ['PENDING', undefined]);
  await editor.until(() =>
    editor.of('tool_call').some((call) => call.toolCallId === second.tool_call_id),
  );
  const shown = editor.of('tool_call').find((call) => call.toolCallId === second.tool_call_id);
  assert.equal(shown?.status, 'pending');
  assert.equal(existsSync(join(workspace, 'after')), false);

  writeFileSync(join(workspace, 'go'), '');
  await terminal.sees(/All done\./);
  const screen = terminal.visible();
  assert.match(screen, /✗ Run touch after[^]*exit code 3/);
  assert.match(screen, /line 9/, 'the end of the output is visible');
  const last = await raw.frame((frame) => {
    const call = callIn(frame);
    return call?.tool_call_id === second.tool_call_id && call.status === 'FAILED';
  });
  const { error } = callIn(last)!;
  assert.deepEqual([error?.type, error?.status_code], ['exit_code', 3]);
  const ended = () =>
    editor.of('tool_call_update').find(({ toolCallId, status }) => {
      return toolCallId === second.tool_call_id && status === 'failed';
    });
  await editor.until(() => ended() !== undefined);
  const { error: message, ...rest } = ended()!.rawOutput as Record<string, unknown>;
  assert.deepEqual(rest, { type: 'exit_code', statusCode: 3 });
  assert.match(String(message), /^exit code 3\nline 1\n/);
});

test('the flat API has the type and the exit code of a failed command', async (t) => {
  const { url } = await startCoder(t, makePlace(t), {
    script: [shell(FAILS), done],
    mode: 'yolo',
    loosest: 'yolo',
  });
  const events = await flatSay(url, { userMessage: 'fail' });
  const failed = events.find(({ status }) => status === 'FAILED');
  assert.deepEqual([failed?.['errorType'], failed?.['statusCode']], ['exit_code', 3]);
});
