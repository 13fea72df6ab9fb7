// Questions of the agent that an ACP client answers: in words, or by a choice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Model, ModelRequest } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { editorIn, startLive } from './support.ts';

function recording(script: readonly ScriptedResponse[], requests: ModelRequest[]): Model {
  return scriptedModel(script, { onRequest: (request) => requests.push(request) });
}

test('a question in words ends the turn, and the next prompt answers it', async (t) => {
  const call = { name: 'ask_user', args: { question: 'Which colour?' } };
  const script = [[{ call }], [{ text: 'Blue it is.' }]];
  const editor = editorIn(t, await startLive(t, { script }));
  await editor.open();
  assert.deepEqual(await editor.prompt('paint'), { stopReason: 'end_turn' });
  assert.match(editor.text, /Which colour\?/);
  assert.deepEqual(editor.asked, []);
  assert.deepEqual(await editor.prompt('blue'), { stopReason: 'end_turn' });
  assert.match(editor.text, /Blue it is\.$/);
});

test('a question with choices is asked like a permission', async (t) => {
  const call = { name: 'ask_user', args: { question: 'Which?', options: ['red', 'blue'] } };
  const requests: ModelRequest[] = [];
  const model = recording([[{ call }], [{ text: 'Good.' }]], requests);
  const editor = editorIn(t, await startLive(t, { model }));
  editor.answer = () => ({ outcome: { outcome: 'selected', optionId: 'option_2' } });
  await editor.open();
  assert.deepEqual(await editor.prompt('paint'), { stopReason: 'end_turn' });
  const kinds = editor.asked[0]?.options.map(({ name, kind }) => `${name} ${kind}`);
  assert.deepEqual(kinds, [
    'red allow_once',
    'blue allow_once',
    'Answer in your own words allow_once',
    'Do not answer reject_once',
  ]);
  assert.match(JSON.stringify(requests[1]?.messages), /"answer":"blue"/);
});

test('a question with choices is answered in words by the next prompt', async (t) => {
  const question = { question: 'Which?', options: ['cancel', 'answer', 'modify'] };
  const call = { name: 'ask_user', args: question };
  const write = { name: 'write_file', args: { path: 'a.txt', content: 'a' } };
  const requests: ModelRequest[] = [];
  const model = recording([[{ call }, { call: write }], [{ text: 'Good.' }]], requests);
  const editor = editorIn(t, await startLive(t, { model }));
  editor.answer = ({ options }) => {
    const words = options.some(({ optionId }) => optionId === 'answer');
    return { outcome: { outcome: 'selected', optionId: words ? 'answer' : 'proceed_once' } };
  };
  await editor.open();
  assert.deepEqual(await editor.prompt('paint'), { stopReason: 'end_turn' });
  assert.match(editor.text, /Which\?/);
  assert.deepEqual(await editor.prompt('a kind of green'), { stopReason: 'end_turn' });
  assert.match(editor.text, /Good\.$/);
  assert.match(JSON.stringify(requests[1]?.messages), /"answer":"a kind of green"/);
});
