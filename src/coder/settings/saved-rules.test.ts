import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { PolicyRule } from '../approval/rule.ts';
import { openSavedRules, type RuleChanges } from './saved-rules.ts';

const rule = (pattern: string): PolicyRule => ({
  tool: 'run_shell_command',
  pattern,
  decision: 'allow',
});

test('a saved rule applies in all agents at once, after the rules of the user and before those of the workspace', async (t) => {
  const configFolder = await mkdtemp(path.join(tmpdir(), 'parley-rules-'));
  t.after(() => rm(configFolder, { recursive: true, force: true }));
  const changes: RuleChanges = { saved: [], removed: new Set() };
  const rules = [rule('mine'), rule('theirs')];
  const open = (known = changes.saved.length) =>
    openSavedRules({ configFolder, root: '/w', rules, userRules: 1, changes, known });
  const [one, other] = [open(), open()];
  await one.save(rule('new'));
  const expected = [rule('mine'), rule('new'), rule('theirs')];
  assert.deepEqual(one.current(), expected);
  assert.deepEqual(other.current(), expected);
  // An agent that is opened later has the rule in its settings.
  assert.deepEqual(open().current(), rules);
  // The rule was saved after the settings of this agent were read, and before the agent was opened.
  assert.deepEqual(open(0).current(), expected);
  assert.deepEqual(await other.list(), { own: [rule('new')], others: [rule('theirs')] });
});

test('a rule that cannot be saved is not in force', async () => {
  const changes: RuleChanges = { saved: [], removed: new Set() };
  const place = { configFolder: '/dev/null/x', root: '/w' };
  const saved = openSavedRules({ ...place, rules: [], userRules: 0, changes, known: 0 });
  await assert.rejects(saved.save(rule('new')));
  assert.deepEqual(saved.current(), []);
});
