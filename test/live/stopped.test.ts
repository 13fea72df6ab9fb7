// Esc in the terminal, with a vendor on loopback: on every wire the running call ends, and the next request tells the
// model what was stopped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventIn, EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { Task, TaskStatusUpdateEvent } from '../../src/protocol/index.ts';
import { editorAt } from '../acp/support.ts';
import { callIn, makePlace } from '../coder/support.ts';
import { openaiCompatible as wire } from '../support/vendors/openai-compatible.ts';
import { data, fakeVendor } from '../support/vendors/server.ts';
import { READY, startProgram } from './program.ts';
import { RawClient } from './raw-client.ts';

const ESCAPE = '\u001b';
const COMMAND = 'echo half; sleep 600';

/** A piece of an answer in the vendor's format. */
function delta(change: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta: change, finish_reason }];
  return data({
    id: 'chat_1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'llama',
    choices,
  });
}

const call = {
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'run_shell_command', arguments: JSON.stringify({ command: COMMAND }) },
};
const replies = [
  {
    events: [
      delta({ role: 'assistant', content: 'Let me build.' }),
      delta({ tool_calls: [call] }),
      delta({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ],
  },
  { events: [delta({ role: 'assistant', content: 'One, two, ' })], after: 'hang' as const },
  { events: wire.answer },
];

interface Body {
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | { readonly text: string }[];
  }[];
}

test('Esc ends the running call on every wire, and the next requests tell the model what was stopped', async (t) => {
  const vendor = await fakeVendor(replies);
  t.after(() => vendor[Symbol.asyncDispose]());
  const place = makePlace(t);
  const args = ['--a2a-port', '0', '--workspace', place.workspace, '--model', wire.model];
  const environment = Object.fromEntries(
    Object.entries(wire.env(vendor.url, 'key')).map(([name, value]) => [name, value ?? '']),
  );
  const terminal = startProgram(t, [...args, '--approval', 'yolo'], { place, environment });
  const port = await terminal.until('the port', () => /A2A :(\d+)/.exec(terminal.visible())?.[1]);
  await terminal.sees(READY);
  const client = new RawClient(t, `ws://127.0.0.1:${port}/ws`, ['a2a']);
  const { params } = await client.snapshot();
  const editor = await editorAt(t, `http://127.0.0.1:${port}/acp`);
  await editor.open();

  const updates = (): TaskStatusUpdateEvent[] =>
    client.frames.flatMap(({ method, params: told }) =>
      method === 'tasks/event' && told.event.kind === 'status-update' ? [told.event] : [],
    );

  terminal.type('build\r');
  await client.frame(() => updates().some((each) => callIn(each)?.live_content?.includes('half')));
  terminal.type(ESCAPE);
  await client.state('canceled');
  await terminal.sees(/stopped by the user/);
  const ended = updates().slice(-2);
  assert.deepEqual(
    ended.map((each) => [callIn(each)?.status ?? each.status.state, eventIn(each.metadata)?.kind]),
    [
      ['CANCELLED', 'TOOL_CALL_UPDATE'],
      ['canceled', 'STATE_CHANGE'],
    ],
  );
  for (const each of updates()) assert.equal(eventIn(each.metadata)?.model, wire.model);

  await editor.until(() =>
    editor.updates.some((each) => 'status' in each && each.status === 'failed'),
  );
  const stopped = editor.updates.filter((each) => 'status' in each && each.status === 'failed');
  assert.equal(stopped.length, 1);
  assert.match(JSON.stringify(stopped[0]), /stopped by the user/);

  const headers = { 'x-a2a-extensions': EXTENSION_URI };
  const response = await fetch(`http://127.0.0.1:${port}/v1/tasks/${params.taskId}`, { headers });
  const { history = [] } = (await response.json()) as Task;
  assert.match(JSON.stringify(history.at(-1)), /"CANCELLED"/);

  terminal.type('count\r');
  await terminal.sees(/One, two,/);
  terminal.type(ESCAPE);
  await client.state('canceled', 2);
  terminal.type('well\r');
  await terminal.sees(/It is sunny/);
  const { messages } = vendor.asked.at(-1)!.body as Body;
  const note = '[The user canceled this request.]';
  assert.deepEqual(
    messages.slice(1).map(({ role, content }) => [role].concat(textsOf(content))),
    [
      ['user', 'build'],
      ['assistant', 'Let me build.'],
      ['tool', 'stopped by the user: this call did not finish. Its output so far:\nhalf'],
      ['user', note, 'count'],
      ['assistant', 'One, two, '],
      ['user', note, 'well'],
    ],
  );
});

function textsOf(content: string | readonly { readonly text: string }[]): readonly string[] {
  return typeof content === 'string' ? [content] : content.map(({ text }) => text);
}
