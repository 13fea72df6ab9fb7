// The tools that talk and remember: todo, ask_user, save_memory.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { toolContext } from '../../../test/support/tool-context.ts';
import { RichResponse, Waiting } from '../../agent/tool.ts';
import { userMemoryFile } from '../files/memory.ts';
import { askUserTool } from './ask-user.ts';
import { saveMemoryTool } from './save-memory.ts';
import { TODO_KEY, todoTool } from './todo.ts';

test('the list is kept in the session and shown with its marks', async () => {
  const context = toolContext();
  const items = [
    { text: 'read', status: 'completed' },
    { text: 'write', status: 'in_progress' },
    { text: 'test', status: 'pending' },
  ];
  const result = await todoTool().run({ items }, context);
  assert.ok(result instanceof RichResponse);
  assert.deepEqual(result.response, { open: 2, completed: 1 });
  assert.deepEqual(result.display, { text: '[x] read\n[>] write\n[ ] test' });
  assert.deepEqual(context.state.get(TODO_KEY), items);
});

test('a question waits for its answer, and the answer is the response', async () => {
  const ask = askUserTool();
  const args = { question: 'Which one?', options: ['a', 'b'] };
  const waiting = await ask.run(args, toolContext());
  assert.ok(waiting instanceof Waiting);
  assert.equal(waiting.question.text, 'Which one?');
  assert.deepEqual(waiting.question.options, ['a', 'b']);
  const answered = await ask.run(args, toolContext({ answer: { questionId: 'call', value: 'b' } }));
  assert.ok(answered instanceof RichResponse);
  assert.deepEqual(answered.response, { answer: 'b' });
});

test('a question that got no answer is said to have none', async () => {
  const context = toolContext({ answer: { questionId: 'call' } });
  const result = await askUserTool().run({ question: 'Well?' }, context);
  assert.deepEqual(result, { answered: false, note: 'The user did not answer.' });
});

async function memory(
  t: TestContext,
): Promise<{ folder: string; save: (text: string) => Promise<unknown> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-memory-'));
  t.after(() => rm(folder, { recursive: true }));
  const tool = saveMemoryTool(folder);
  return { folder, save: async (text) => tool.run({ text }, toolContext()) };
}

test('a fact is remembered on one line, once, whatever the order', async (t) => {
  const { folder, save } = await memory(t);
  await Promise.all([save('Likes\n\n# tabs'), save('likes # tabs'), save('Uses pnpm')]);
  assert.deepEqual(await save('  uses pnpm '), {
    saved: false,
    note: 'The fact was already saved earlier.',
  });
  assert.equal(await readFile(userMemoryFile(folder), 'utf8'), '- Likes # tabs\n- Uses pnpm\n');
});

test('the memory has a limit', async (t) => {
  const { save } = await memory(t);
  for (let number = 0; number < 65; number++) await save(`${number} ${'x'.repeat(990)}`);
  await assert.rejects(save(`last ${'x'.repeat(990)}`), /the memory is full/);
});

test('nothing is not remembered', async (t) => {
  const { save } = await memory(t);
  await assert.rejects(save(' \n '), /the text is empty/);
});
