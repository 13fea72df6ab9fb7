import assert from 'node:assert/strict';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import {
  createRunner,
  llmAgent,
  scriptedModel,
  type Answer,
  type Event,
} from '../../agent/index.ts';
import { makeWorkspace } from '../../../test/support/workspace.ts';
import { contentLike, fileChangeTool } from '../tools/file-change.ts';
import { answerIn } from './answers.ts';
import { FileChanges } from './file-changes.ts';
import { guarded } from './guard.ts';
import type { ApprovalMode } from './rule.ts';

/** An agent that writes a.txt once for each user, and how often the change was planned. */
async function writer(t: TestContext, mode: ApprovalMode, users = 1) {
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': 'one\n' });
  let plans = 0;
  const tool = fileChangeTool(workspace, undefined, {
    name: 'write',
    description: 'Writes a file.',
    input: z.strictObject({ path: z.string(), content: z.string() }),
    describe: ({ path }) => `Write ${path}`,
    paths: ({ path }) => [path],
    async plan({ path, content }) {
      plans++;
      const before = await workspace.read(path);
      const after = contentLike(before, content, path);
      return { changes: [{ path: workspace.locate(path), before, after }], summary: 'Written.' };
    },
  });
  const guard = {
    root: workspace.roots[0]!,
    mode,
    loosest: mode,
    rules: [],
    changes: new FileChanges(),
    saveRule: () => Promise.resolve(),
    realPath: (path: string) => workspace.realPath(path),
    filesOf: () => undefined,
    beforeChange: () => Promise.resolve(),
  };
  const call = { name: 'write', args: { path: 'a.txt', content: 'two\n' } };
  const calls = Array.from({ length: users }, () => [{ call }]);
  const model = scriptedModel([...calls, ...calls.map(() => [{ text: 'Done.' }])]);
  const agent = llmAgent({ name: 'coder', model, tools: [guarded(tool, guard)] });
  const runner = createRunner({ agent });
  const placeOf = (user: string) => ({ user, session: 's', runId: `run of ${user}` });
  const respond = async (events: AsyncIterable<Event>): Promise<unknown> => {
    let response: unknown;
    for await (const { content } of events) {
      for (const part of content?.parts ?? []) {
        if (part.kind === 'function-response') ({ response } = part);
      }
    }
    return response;
  };
  return {
    file: at('a.txt'),
    plans: () => plans,
    start: (user = 'ann') => respond(runner.run({ ...placeOf(user), message: 'write it' })),
    answer: async (option: string, user = 'ann'): Promise<unknown> => {
      const place = placeOf(user);
      const questions = await runner.pending(place);
      const answers = questions.flatMap((question): Answer | Answer[] => {
        const data = { tool_call_id: question.id, selected_option_id: option };
        const parts = [{ kind: 'data' as const, data }];
        const message = { kind: 'message', messageId: option, role: 'user', parts } as const;
        return answerIn({ ...message, parts }, question) ?? [];
      });
      return respond(runner.resume({ ...place, answers }));
    },
  };
}

for (const option of ['proceed_once', 'proceed_always', 'proceed_always_and_save']) {
  test(`an edit that is approved with ${option} is planned once`, async (t) => {
    const { file, plans, start, answer } = await writer(t, 'ask');
    await start();
    assert.equal(await answer(option), 'Written.');
    assert.equal(await readFile(file, 'utf8'), 'two\n');
    assert.equal(plans(), 1);
  });
}

test('an edit that needs no approval is planned once', async (t) => {
  const { file, plans, start } = await writer(t, 'auto-edit');
  assert.equal(await start(), 'Written.');
  assert.equal(await readFile(file, 'utf8'), 'two\n');
  assert.equal(plans(), 1);
});

test('a file that was only touched after the question is written all the same', async (t) => {
  const { file, plans, start, answer } = await writer(t, 'ask');
  await start();
  await utimes(file, 1, 1);
  assert.equal(await answer('proceed_once'), 'Written.');
  assert.equal(plans(), 1);
});

test('a file that changed after the question is not written', async (t) => {
  const { file, start, answer } = await writer(t, 'ask');
  await start();
  await writeFile(file, 'three\n');
  assert.match(String(await answer('proceed_once')), /modified after the approval was requested/);
  assert.equal(await readFile(file, 'utf8'), 'three\n');
});

test('sessions of two users with the same id do not overwrite each other’s files', async (t) => {
  const { start, answer } = await writer(t, 'ask', 2);
  await start('ann');
  await start('bob');
  assert.equal(await answer('proceed_once', 'ann'), 'Written.');
  assert.match(String(await answer('proceed_once', 'bob')), /another task has changed this file/);
});
