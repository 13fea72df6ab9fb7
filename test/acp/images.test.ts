// Images between an editor, the model and the tools.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { methods, type ContentBlock } from '@agentclientprotocol/sdk';
import type { Model, ModelRequest } from '../../src/agent/model.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { allowed, editorIn, startLive, type Editor } from './support.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;

/** The content of the last update of the first call. */
function shown(editor: Editor): ContentBlock[] {
  const content = editor.of('tool_call_update').at(-1)?.content ?? [];
  return content.flatMap((each) => (each.type === 'content' ? [each.content] : []));
}

test('an image that the agent reads is shown in the editor, also when the session is loaded', async (t) => {
  const script = [
    [{ call: { name: 'read_file', args: { path: 'dot.png' } } }],
    [{ text: 'A dot.' }],
  ];
  const started = await startLive(t, { script });
  writeFileSync(join(started.workspace, 'dot.png'), Buffer.from(PNG, 'base64'));
  const [editor, late] = [editorIn(t, started), editorIn(t, started)];
  editor.answer = () => allowed;
  await editor.open();
  await editor.prompt('look at dot.png');
  const text = '```\n[dot.png: image/png, 70 bytes]\n```';
  assert.deepEqual(shown(editor), [{ type: 'text', text }, image]);
  await late.initialize();
  await late.load(editor.sessionId);
  assert.deepEqual(shown(late), [{ type: 'text', text }, image]);
  assert.equal(late.text, 'A dot.');
});

test('a large image is named and not shown, because every client reads the log', async (t) => {
  const script = [
    [{ call: { name: 'read_file', args: { path: 'big.png' } } }],
    [{ text: 'Large.' }],
  ];
  const started = await startLive(t, { script });
  const bytes = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(1_000_000)]);
  writeFileSync(join(started.workspace, 'big.png'), bytes);
  const editor = editorIn(t, started);
  await editor.open();
  await editor.prompt('look at big.png');
  assert.deepEqual(
    shown(editor).map(({ type }) => type),
    ['text'],
  );
});

test('an image that the model makes is a chunk of its answer', async (t) => {
  const model: Model = {
    name: 'painter',
    async *generate() {
      yield { kind: 'text', text: 'Here: ' };
      yield { kind: 'blob', mediaType: 'image/png', data: PNG };
      yield { kind: 'text', text: 'a dot.' };
      yield { kind: 'finish', reason: 'stop' };
    },
  };
  const started = await startLive(t, { model });
  const [editor, late] = [editorIn(t, started), editorIn(t, started)];
  await editor.open();
  await editor.prompt('paint a dot');
  await late.initialize();
  await late.load(editor.sessionId);
  for (const each of [editor, late]) {
    const chunks = each.of('agent_message_chunk').map(({ content }) => content);
    assert.deepEqual(
      chunks.filter(({ type }) => type === 'image'),
      [image],
    );
    assert.equal(each.text, 'Here: a dot.');
  }
});

test('an image in a prompt reaches the model, and the other clients', async (t) => {
  const requests: ModelRequest[] = [];
  const model = scriptedModel([[{ text: 'A dot.' }]], {
    onRequest: (request) => requests.push(request),
  });
  const started = await startLive(t, { model });
  const [editor, other] = [editorIn(t, started), editorIn(t, started)];
  await Promise.all([editor.open(), other.open()]);
  await editor.connection.agent.request(methods.agent.session.prompt, {
    sessionId: editor.sessionId,
    prompt: [{ type: 'text', text: 'what is this?' }, image],
  });
  const parts = requests[0]?.messages.at(-1)?.parts ?? [];
  const blobs = parts.filter((part) => part.kind === 'blob');
  assert.deepEqual(
    blobs.map(({ mediaType, data }) => [mediaType, data]),
    [['image/png', PNG]],
  );
  await other.until(() => other.of('user_message_chunk').length === 2);
  assert.deepEqual(other.of('user_message_chunk')[1]?.content, image);
});
