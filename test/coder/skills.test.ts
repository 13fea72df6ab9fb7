/** Skills: folders with instructions that the model reads when it needs them. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { trust } from '../../src/coder/settings/index.ts';
import { calls, done, lastCall, talk } from './checked-talk.ts';
import { makePlace } from './support.ts';
import { heard, settings } from './talk.ts';

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const RELEASE = `---
name: release
description: >
  How releases are made here.
  Use it before you publish.
license: MIT
---
# Releases

Run scripts/check.sh, then read notes.md.`;

test('the model gets the name and the description, and reads the rest when it needs it', async (t) => {
  const place = makePlace(t);
  const folder = join(place.home, 'config', 'skills', 'release');
  write(join(folder, 'SKILL.md'), RELEASE);
  write(join(folder, 'notes.md'), 'Write notes first.');
  write(join(folder, 'scripts', 'check.sh'), 'true');
  const script = [
    calls('skill', { name: 'release' }),
    calls('skill', { name: 'release', file: 'notes.md' }),
    done,
  ];
  const { say, requests, seen } = await talk(t, script, { place });
  await say('publish it');
  const { system = '', tools = [] } = requests[0] ?? {};
  assert.match(system, /- release: How releases are made here\. Use it before you publish\./);
  assert.doesNotMatch(system, /Run scripts/);
  assert.ok(tools.some(({ name }) => name === 'skill'));
  assert.match(heard(requests[1]), /Run scripts\/check\.sh.*notes\.md\\nscripts\/check\.sh/);
  assert.match(heard(requests[2]), /Write notes first\./);
  const [first] = [...seen.calls.values()];
  assert.equal(first?.description, 'Read the skill release');
  assert.deepEqual(seen.ends, ['completed'], 'nobody had to be asked');
  assert.match(JSON.stringify(await say('/skills')), /release: How releases are made here\./);
});

test('without skills there is no tool for them', async (t) => {
  const { say, requests } = await talk(t, [done]);
  await say('hello');
  assert.ok(!requests[0]?.tools?.some(({ name }) => name === 'skill'));
  assert.doesNotMatch(requests[0]?.system ?? '', /# Skills/);
});

test('a file outside the folder of the skill is not read, whatever leads to it', async (t) => {
  const place = makePlace(t);
  const folder = join(place.home, 'config', 'skills', 'release');
  write(join(folder, 'SKILL.md'), RELEASE);
  write(join(place.home, 'secret'), 'the secret');
  symlinkSync(join(place.home, 'secret'), join(folder, 'link'));
  const files = ['../../../secret', join(place.home, 'secret'), 'link', 'missing'];
  const script = files.map((file) => calls('skill', { name: 'release', file }));
  const { say, requests, seen } = await talk(t, [...script, done], { place });
  await say('go');
  assert.doesNotMatch(heard(requests.at(-1)), /the secret/);
  const errors = [...seen.calls.values()].map(({ error }) => error?.message);
  assert.match(errors[0]!, /^\.\.\/.* is not in the folder of the skill$/);
  assert.match(errors[2]!, /^link is not in the folder of the skill$/);
  assert.equal(errors[3], 'the skill has no file missing');
});

test('a skill of a workspace that is a link to another place is ignored', async (t) => {
  const place = makePlace(t);
  const elsewhere = join(place.home, 'elsewhere');
  write(join(elsewhere, 'SKILL.md'), RELEASE);
  write(join(elsewhere, 'other.md'), RELEASE.replace('release', 'other'));
  const skills = join(place.workspace, '.parley', 'skills');
  mkdirSync(join(skills, 'b'), { recursive: true });
  symlinkSync(elsewhere, join(skills, 'a'));
  symlinkSync(join(elsewhere, 'other.md'), join(skills, 'b', 'SKILL.md'));
  await trust(join(place.home, 'config'), place.workspace);
  const notices: string[] = [];
  const notify = (notice: { text: string }) => void notices.push(notice.text);
  const { say, requests } = await talk(t, [done], { place, notify });
  await say('go');
  assert.doesNotMatch(requests[0]?.system ?? '', /# Skills/);
  assert.equal(notices.filter((notice) => /outside .*the skill is ignored/.test(notice)).length, 2);
});

test('skills of a workspace count only when it is trusted, and rules for files apply to them', async (t) => {
  const place = makePlace(t);
  settings(place, { policy: [{ tool: 'read_file', pattern: '**/*.pem', decision: 'deny' }] });
  const folder = join(place.workspace, '.parley', 'skills', 'release');
  write(join(folder, 'SKILL.md'), RELEASE);
  write(join(folder, 'key.pem'), 'the secret');
  const read = calls('skill', { name: 'release', file: 'key.pem' });
  const { say, requests } = await talk(t, [done, read, done], { place });
  await say('go');
  assert.doesNotMatch(requests[0]?.system ?? '', /# Skills/);
  await trust(join(place.home, 'config'), place.workspace);
  const events = await say('go');
  assert.match(requests[1]?.system ?? '', /- release: /);
  assert.equal(lastCall(events).error?.message, 'not allowed: a rule protects key.pem');
});
