/** What holds for every policy, found with random rules, permissions and calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FETCH, ROOT, SHELL, editOf, tool, verdict } from '../../../test/support/policy.ts';
import type { PolicyRule } from './rule.ts';

const FILES = ['a', 'src/a', 'secrets/a', 'secrets/deep/a', '.parley/a', '.PARLEY/a', '.git/a'];
const GLOBS = ['a', '**', 'src/**', 'secrets/**', 'secrets/a', '.parley/**', '**/a', '*', '[', ''];
const COMMANDS = [
  'git push',
  'git push --force',
  'git push $X',
  'git $X --force',
  'git commit -m x --no-verify',
  'npm test',
  'npm run $X',
  'rm a',
  '$X a',
  'ls > out',
  'f() { rm a; }',
];
const STARTS = [
  'git',
  'git push',
  'git push $',
  'git push --force',
  'git commit',
  'git commit --no-verify',
  'git --force',
  'npm *',
  'npm run * $',
  'rm',
  'a && b',
];
const HOSTS = ['a.example', 'b.example', 'example', '[::1]'];
const NAMES = ['a.example', '*.example', '*', 'a.*', '::1', 'a.example.'];

/** A kind of call: the parts that it may have, and the tools and patterns of rules about it. */
const KINDS = [
  {
    tools: ['apply_patch', 'read_file', '*', 'apply_*', 'write_file'],
    patterns: GLOBS,
    parts: FILES,
    decide: (parts: readonly string[], rules: Rules, mode: Mode) =>
      verdict(
        rules.rules,
        tool('apply_patch', 'edit'),
        {},
        { ...more(rules, mode), preview: editOf(...parts) },
      ),
  },
  {
    tools: ['run_shell_command', '*', 'run_*'],
    patterns: STARTS,
    parts: COMMANDS,
    decide: (parts: readonly string[], rules: Rules, mode: Mode) =>
      verdict(rules.rules, SHELL, { command: parts.join('\n') }, more(rules, mode)),
  },
  {
    tools: ['fetch_url', '*'],
    patterns: NAMES,
    parts: HOSTS,
    decide: ([host]: readonly string[], rules: Rules, mode: Mode) =>
      verdict(rules.rules, FETCH, { url: `https://${host}/` }, more(rules, mode)),
  },
] as const;

type Mode = 'ask' | 'auto-edit' | 'yolo' | 'plan';
interface Rules {
  readonly rules: readonly PolicyRule[];
  readonly grants: readonly PolicyRule[];
  readonly readsOnly: boolean;
}

function more({ grants, readsOnly }: Rules, mode: Mode) {
  return { mode, grants, readsOnly };
}

const setting = fc.constantFrom(...KINDS).chain((kind) => {
  const ruleOf = (...decisions: PolicyRule['decision'][]): fc.Arbitrary<PolicyRule> =>
    fc.record(
      {
        tool: fc.constantFrom(...kind.tools),
        pattern: fc.constantFrom(...kind.patterns),
        decision: fc.constantFrom(...decisions),
        workspace: fc.constant(ROOT),
      },
      { requiredKeys: ['tool', 'decision'] },
    );
  const rule = ruleOf('allow', 'ask', 'deny');
  const grant = ruleOf('allow');
  return fc.record({
    decide: fc.constant(kind.decide),
    rules: fc.array(rule, { maxLength: 5 }),
    grants: fc.array(grant, { maxLength: 3 }),
    rule,
    grant,
    isSaved: fc.boolean(),
    parts: fc.array(fc.constantFrom(...kind.parts), { minLength: 1, maxLength: 3 }),
    mode: fc.constantFrom<Mode>('ask', 'auto-edit', 'yolo', 'plan'),
    readsOnly: fc.boolean(),
    seed: fc.integer(),
  });
});

const STRENGTH = { allow: 0, ask: 1, deny: 2 } as const;
const RUNS = { numRuns: process.env['PARLEY_TEST_LONG'] ? 50_000 : 3_000 };

test('a decision does not depend on the order of the parts of a call, nor on that of the permissions', () => {
  fc.assert(
    fc.property(setting, ({ decide, parts, mode, ...rules }) => {
      const { decision } = decide(parts, rules, mode);
      const turned = { ...rules, grants: rules.grants.toReversed() };
      assert.equal(decide(parts, turned, mode).decision, decision);
      const others = parts.toReversed();
      // Of several hosts, only the first is called.
      if (decide === KINDS[2].decide) return;
      assert.equal(decide(others, rules, mode).decision, decision);
      assert.equal(decide([...parts, ...others], rules, mode).decision, decision);
    }),
    RUNS,
  );
});

test('a permission never changes a decision to deny, and never makes a decision stricter', () => {
  fc.assert(
    fc.property(setting, ({ decide, parts, mode, grant, isSaved, ...rules }) => {
      const { decision: before } = decide(parts, rules, mode);
      const saved = { ...grant, workspace: ROOT };
      const after = decide(
        parts,
        isSaved
          ? { ...rules, rules: [...rules.rules, saved] }
          : { ...rules, grants: [...rules.grants, grant] },
        mode,
      ).decision;
      if (before === 'deny') assert.equal(after, 'deny');
      assert.ok(STRENGTH[after] <= STRENGTH[before], `${before}, then ${after}`);
    }),
    RUNS,
  );
});

test('a rule that denies, added at the end, never makes a decision weaker', () => {
  fc.assert(
    fc.property(setting, ({ decide, parts, mode, rule, ...rules }) => {
      const { decision: before } = decide(parts, rules, mode);
      const added: PolicyRule = { ...rule, decision: 'deny' };
      const after = decide(parts, { ...rules, rules: [...rules.rules, added] }, mode).decision;
      assert.ok(STRENGTH[after] >= STRENGTH[before], `${before}, then ${after}`);
    }),
    RUNS,
  );
});
