/** Commands that only read need no approval, and get no further than that. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { calls, done, shell, talk } from './checked-talk.ts';
import { makePlace, outline } from './support.ts';
import { heard, settings } from './talk.ts';

const asked = 'STATE_CHANGE input-required final';
const completed = 'STATE_CHANGE completed final';
const end = (events: Parameters<typeof outline>[0][]): string => outline(events.at(-1)!);

test('a command that only reads runs without a question, and is in the list of approvals', async (t) => {
  const place = makePlace(t);
  writeFileSync(join(place.workspace, 'a.txt'), 'alpha\n');
  const { say, goOn, answer, at, requests } = await talk(
    t,
    [shell('cat a.txt | head -3'), done, shell('cat a.txt > b.txt'), done],
    { place },
  );
  assert.equal(end(await say('read')), completed);
  assert.match(heard(requests[1]), /alpha/);
  const listed = await goOn('/approvals');
  assert.match(JSON.stringify(listed), /automatic: the command only reads files of the workspace/);
  assert.equal(end(await goOn('write')), asked);
  assert.ok(!existsSync(at('b.txt')));
  assert.equal(end(await answer('cancel')), completed);
});

test('a command that only reads obeys rules and plan mode, and asks when it runs in the background', async (t) => {
  const place = makePlace(t);
  settings(place, {
    policy: [{ tool: 'run_shell_command', pattern: 'ls', decision: 'ask' }],
  });
  const job = calls('run_shell_command', { command: 'pwd', background: true });
  const { say, answer } = await talk(t, [shell('ls'), done, job, done, shell('pwd'), done], {
    place,
  });
  for (const command of ['ls', 'a job']) {
    assert.equal(end(await say(command)), asked);
    assert.equal(end(await answer('cancel')), completed);
  }
  assert.equal(end(await say('pwd')), completed);
  const planned = await talk(t, [shell('pwd'), done], { mode: 'plan' });
  assert.equal(end(await planned.say('pwd')), completed);
  assert.match(heard(planned.requests[1]), /plan mode does not change or run anything/);
});

test('a file that became a link out of the workspace is not read, although it was harmless before', async (t) => {
  const place = makePlace(t);
  writeFileSync(join(place.workspace, 'a.txt'), 'alpha\n');
  const script = [[...shell('ln -sf /etc/passwd a.txt'), ...shell('cat a.txt')], done];
  const { say, answer, requests } = await talk(t, script, { place });
  assert.equal(end(await say('both')), asked);
  await answer('proceed_once');
  assert.ok(!requests.some((request) => heard(request).includes('root:')));
});
