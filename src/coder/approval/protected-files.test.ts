import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import type { JsonObject } from '../../base/index.ts';
import { RichResponse, type Question, type ToolContext } from '../../agent/index.ts';
import { toolContext } from '../../../test/support/tool-context.ts';
import { makeWorkspace } from '../../../test/support/workspace.ts';
import { applyPatchTool } from '../tools/apply-patch.ts';
import { editTool } from '../tools/edit.ts';
import { globTool } from '../tools/glob.ts';
import { listDirectoryTool } from '../tools/list-directory.ts';
import { searchTool } from '../tools/search.ts';
import type { CoderTool } from '../tools/tool.ts';
import { answerIn } from './answers.ts';
import { requestOf } from './confirmation-request.ts';
import { FileChanges } from './file-changes.ts';
import { guarded } from './guard.ts';
import type { ApprovalMode, PolicyRule } from './rule.ts';

const NOTE = '[files that a rule protects are left out]';

/** A workspace with a secret, and a function that calls a tool under these rules as an agent does. */
async function protectedBy(t: TestContext, rules: readonly PolicyRule[], mode: ApprovalMode) {
  return (await placeProtectedBy(t, rules, mode)).call;
}

async function placeProtectedBy(t: TestContext, rules: readonly PolicyRule[], mode: ApprovalMode) {
  const { workspace, at } = await makeWorkspace(t, {
    'a.txt': 'key=public\n',
    'secrets/b.txt': 'key=hidden\n',
    'secrets/deep/c.txt': 'key=deeper\n',
  });
  await symlink('secrets', at('link'));
  const tools: Record<string, CoderTool> = {
    search: searchTool(workspace),
    glob: globTool(workspace),
    list_directory: listDirectoryTool(workspace),
    edit: editTool(workspace),
    apply_patch: applyPatchTool(workspace),
  };
  const guardedTool = (name: string) =>
    guarded(tools[name]!, {
      root: workspace.roots[0]!,
      mode,
      loosest: mode,
      rules,
      changes: new FileChanges(),
      saveRule: () => Promise.resolve(),
      realPath: (path) => workspace.realPath(path),
      filesOf: () => undefined,
      beforeChange: () => Promise.resolve(),
    });
  return {
    at,
    /** The question about a call. */
    ask: async (name: string, args: JsonObject): Promise<Question> => {
      const asked = await guardedTool(name).confirm?.(args, toolContext());
      assert.ok(typeof asked === 'object');
      return { ...asked, options: [], id: 'q', agent: 'coder', kind: 'confirmation' };
    },
    call: async (name: string, args: JsonObject, more: Partial<ToolContext> = {}) => {
      const tool = guardedTool(name);
      const context = toolContext(more);
      if (!context.confirmation && (await tool.confirm?.(args, context))) return 'asks';
      const result = await tool.run(args, context);
      return result instanceof RichResponse ? result.response : result;
    },
  };
}

const rule = (tool: string, decision: PolicyRule['decision']): PolicyRule => ({
  tool,
  decision,
  pattern: 'secrets/**',
});

for (const tool of ['read_file', '*']) {
  for (const path of [undefined, '.', './']) {
    test(`what a rule for ${tool} denies is in no result of a search in ${path}`, async (t) => {
      const call = await protectedBy(t, [rule(tool, 'deny')], 'yolo');
      const place: JsonObject = path === undefined ? {} : { path };
      const found = await call('search', { pattern: 'key=', ...place });
      assert.equal(found, `a.txt:1: key=public\n${NOTE}`);
      assert.equal(await call('glob', { pattern: '**', ...place }), `a.txt\n${NOTE}`);
      const listed = await call('list_directory', place);
      assert.equal(listed, `a.txt (11 bytes)\nlink -> secrets\n${NOTE}`);
    });
  }
}

test('a result does not tell whether a protected file has a match', async (t) => {
  const call = await protectedBy(t, [rule('search', 'deny')], 'ask');
  const hit = await call('search', { pattern: 'hidden' });
  const miss = await call('search', { pattern: 'absent' });
  assert.equal(String(hit).replace('hidden', 'absent'), miss);
});

test('a search in a protected folder is denied, also through a link', async (t) => {
  const call = await protectedBy(t, [rule('search', 'deny')], 'yolo');
  for (const path of ['secrets', 'secrets/deep', 'link', 'link/deep']) {
    await assert.rejects(call('search', { pattern: 'key=', path }), /not allowed: a rule denies/);
  }
});

test('files that a rule asks about are shown when a person approved the call, and in yolo', async (t) => {
  const asks = await protectedBy(t, [rule('search', 'ask')], 'ask');
  assert.equal(await asks('search', { pattern: 'key=' }), `a.txt:1: key=public\n${NOTE}`);
  assert.equal(await asks('search', { pattern: 'key=', path: 'secrets' }), 'asks');
  const confirmation = { questionId: 'q', approved: true };
  const approved = await asks('search', { pattern: 'hidden', path: 'secrets' }, { confirmation });
  assert.match(String(approved), /^secrets\/b\.txt:1: key=hidden$/m);
  const yolo = await protectedBy(t, [rule('search', 'ask')], 'yolo');
  assert.match(String(await yolo('search', { pattern: 'hidden' })), /key=hidden/);
});

test('when a person approves a search, files that a rule for read_file asks about are not shown', async (t) => {
  const asks: PolicyRule = { tool: 'search', decision: 'ask' };
  const call = await protectedBy(t, [asks, rule('read_file', 'ask')], 'ask');
  assert.equal(await call('search', { pattern: 'key=' }), 'asks');
  const confirmation = { questionId: 'q', approved: true };
  const found = await call('search', { pattern: 'key=' }, { confirmation });
  assert.equal(found, `a.txt:1: key=public\n${NOTE}`);
});

test('the last rule that matches decides about a file in a result', async (t) => {
  const deep: PolicyRule = { tool: 'search', decision: 'allow', pattern: 'secrets/deep/**' };
  const call = await protectedBy(t, [rule('search', 'deny'), deep], 'yolo');
  const found = String(await call('search', { pattern: 'key=' }));
  assert.match(found, /deeper/);
  assert.doesNotMatch(found, /hidden/);
});

test('an edit that is denied does not quote the file', async (t) => {
  const edit = { path: 'secrets/b.txt', old: 'key=hid', new: 'x' };
  const patch = `*** Begin Patch\n*** Update File: secrets/b.txt\n@@\n-key=hid\n+x\n*** End Patch`;
  const moved = `*** Begin Patch\n*** Update File: secrets/b.txt\n*** Move to: b.txt\n@@\n-key=hidden\n+x\n*** End Patch`;
  for (const denied of ['edit', 'apply_patch', 'read_file']) {
    const call = await protectedBy(t, [rule(denied, 'deny')], 'yolo');
    const calls: [string, JsonObject][] = [
      ['edit', { ...edit, old: 'key=hidde' }],
      ['apply_patch', { patch }],
      ['apply_patch', { patch: moved }],
    ];
    for (const [name, args] of calls) {
      if (denied !== 'read_file' && denied !== name) continue;
      await assert.rejects(call(name, args), (error: Error) => {
        assert.match(error.message, /^not allowed: a rule denies/);
        assert.doesNotMatch(error.message, /hidden/);
        return true;
      });
    }
  }
});

for (const tool of ['read_file', '*']) {
  test(`a rule without a pattern that denies ${tool} hides every file from searches and edits`, async (t) => {
    const call = await protectedBy(
      t,
      [
        { tool, decision: 'deny' },
        ...['search', 'glob', 'list_directory', 'edit'].map((name) => ({
          tool: name,
          decision: 'allow' as const,
        })),
      ],
      'yolo',
    );
    assert.equal(await call('search', { pattern: 'key=' }), `[no line matches key=]\n${NOTE}`);
    assert.equal(await call('glob', { pattern: '**' }), `[no file in . matches **]\n${NOTE}`);
    assert.doesNotMatch(String(await call('list_directory', {})), /a\.txt|secrets|link/);
    const edit = { path: 'a.txt', old: 'key=publ', new: 'x' };
    await assert.rejects(call('edit', edit), /not allowed: a rule denies/);
  });
}

test('a rule that allows some files after one that denies all shows these files', async (t) => {
  const allow: PolicyRule = { tool: 'read_file', decision: 'allow', pattern: 'a.txt' };
  const call = await protectedBy(t, [{ tool: 'read_file', decision: 'deny' }, allow], 'yolo');
  assert.equal(await call('search', { pattern: 'key=' }), `a.txt:1: key=public\n${NOTE}`);
});

test('nothing is said about protected files when a person has approved the search of all files', async (t) => {
  const call = await protectedBy(t, [{ tool: '*', decision: 'ask' }], 'ask');
  assert.equal(await call('search', { pattern: 'key=' }), 'asks');
  const confirmation = { questionId: 'q', approved: true };
  const found = String(await call('search', { pattern: 'key=' }, { confirmation }));
  assert.match(found, /hidden/);
  assert.doesNotMatch(found, /protects/);
});

/** Edits of a protected file: one that fits it, and ones whose error would quote it. */
const FITS: JsonObject = { path: 'secrets/b.txt', old: 'key=hidden', new: 'key=x' };
const QUOTED: JsonObject = { path: 'secrets/b.txt', old: 'key=hid\nother', new: 'x' };
const FAILING: [string, JsonObject][] = [
  ['edit', QUOTED],
  ['edit', { path: 'link/b.txt', old: 'key=hid\nother', new: 'x' }],
  ['edit', { path: 'secrets/absent.txt', old: 'a', new: 'b' }],
  [
    'apply_patch',
    { patch: '*** Begin Patch\n*** Update File: secrets/b.txt\n@@\n-key=hid\n+x\n*** End Patch' },
  ],
];

for (const mode of ['ask', 'auto-edit'] as const) {
  test(`in ${mode} mode, an edit of a file that a rule asks about before it is read is asked about, whether it fits or not`, async (t) => {
    for (const rules of [
      [rule('read_file', 'ask')],
      [{ tool: 'read_file', decision: 'ask' as const }],
    ]) {
      const { call, ask } = await placeProtectedBy(t, rules, mode);
      assert.equal(await call('edit', FITS), 'asks');
      for (const [name, args] of FAILING) {
        const question = await ask(name, args);
        const { request } = requestOf(question);
        assert.match(request.generic_details?.description ?? '', /fails.* may quote/s);
        assert.doesNotMatch(JSON.stringify(question), /hidden/);
        assert.deepEqual(
          request.options.map(({ id }) => id),
          ['proceed_once', 'cancel'],
        );
      }
    }
  });
}

test('in yolo mode, an edit of a file that a rule asks about before it is read runs', async (t) => {
  const call = await protectedBy(t, [rule('read_file', 'ask')], 'yolo');
  assert.match(String(await call('edit', FITS)), /^Edited/);
});

test('when a person approves an edit that fails, the model gets its error, and nothing is changed even if it fits by then', async (t) => {
  const { call, ask, at } = await placeProtectedBy(t, [rule('read_file', 'ask')], 'ask');
  const question = await ask('edit', QUOTED);
  const data = { tool_call_id: 'q', selected_option_id: 'proceed_once' };
  const parts = [{ kind: 'data' as const, data }];
  const confirmation = answerIn({ kind: 'message', messageId: 'm', role: 'user', parts }, question);
  assert.ok(confirmation);
  await assert.rejects(call('edit', QUOTED, { confirmation }), /hidden/);
  await writeFile(at('secrets/b.txt'), 'key=hid\nother\n');
  await assert.rejects(call('edit', QUOTED, { confirmation }), /nothing was written/);
});
