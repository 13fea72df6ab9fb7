/** What is allowed for good, for how long, and what the modes allow. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { calls, done, lastCall, shell, talk } from './checked-talk.ts';
import { callIn, makePlace, outline, stream, userMessage } from './support.ts';
import { heard, settings, writes } from './talk.ts';

const asked = 'STATE_CHANGE input-required final';
const completed = 'STATE_CHANGE completed final';
const end = (events: Parameters<typeof outline>[0][]): string => outline(events.at(-1)!);

test('a command that is allowed for the session is not asked about again; others are', async (t) => {
  const { say, answer, goOn } = await talk(t, [
    shell('echo one'),
    done,
    shell('echo one'),
    done,
    shell('echo two'),
  ]);
  assert.equal(end(await say('one')), asked);
  assert.equal(end(await answer('proceed_always')), completed);
  assert.equal(end(await goOn('again')), completed);
  assert.equal(end(await goOn('another')), asked);
});

test('what is allowed in one session is asked about in another', async (t) => {
  const { say, answer } = await talk(t, [writes('a.txt', '1'), done, writes('a.txt', '2')]);
  await say('one');
  assert.equal(end(await answer('proceed_always_tool')), completed);
  assert.equal(end(await say('in a conversation of its own')), asked);
});

test('a file that is allowed is this file; a tool that is allowed is all of its calls', async (t) => {
  const { say, answer, goOn, at } = await talk(t, [
    writes('a.txt', '1'),
    done,
    writes('a.txt', '2'),
    done,
    writes('b.txt', '1'),
    done,
    writes('c.txt', '1'),
    done,
  ]);
  await say('a');
  assert.equal(end(await answer('proceed_always')), completed);
  assert.equal(end(await goOn('a again')), completed);
  assert.equal(readFileSync(at('a.txt'), 'utf8'), '2');
  assert.equal(end(await goOn('b')), asked);
  assert.equal(end(await answer('proceed_always_tool')), completed);
  assert.equal(end(await goOn('c')), completed);
});

test("what is allowed for good stands in the user's settings, and holds in later sessions", async (t) => {
  const place = makePlace(t);
  const first = await talk(t, [shell('echo one'), done], { place });
  await first.say('one');
  assert.equal(end(await first.answer('proceed_always_and_save')), completed);
  const file = readFileSync(join(place.home, 'config', 'settings.json'), 'utf8');
  const { policy } = JSON.parse(file) as { policy: unknown[] };
  assert.equal(policy.length, 1);
  assert.match(JSON.stringify(policy), /"tool":"run_shell_command".*"decision":"allow"/);

  const second = await talk(t, [shell('echo one'), done, shell('echo two')], {
    // Other stores, beside the same settings.
    place: { ...place, home: makePlace(t).home },
    configFolder: join(place.home, 'config'),
  });
  assert.equal(end(await second.say('one')), completed);
  assert.equal(end(await second.say('two')), asked);

  // The same command is another one in another workspace.
  const third = await talk(t, [shell('echo one')], {
    place: makePlace(t),
    configFolder: join(place.home, 'config'),
  });
  assert.equal(end(await third.say('one')), asked);
});

test('what is allowed for good holds at once in other sessions of the same process', async (t) => {
  const { say, answer } = await talk(t, [shell('echo one'), done, shell('echo one'), done]);
  await say('one');
  assert.equal(end(await answer('proceed_always_and_save')), completed);
  assert.equal(end(await say('in a conversation of its own')), completed);
});

test('in plan mode nothing is written or run, and the model is told so', async (t) => {
  const { say, at, requests, seen } = await talk(
    t,
    [
      calls('list_directory', {}),
      writes('a.txt', 'a'),
      shell('touch b'),
      calls('fetch_url', { url: 'http://127.0.0.1:1/' }),
      done,
    ],
    { mode: 'plan' },
  );
  assert.equal(end(await say('plan')), completed);
  assert.equal(seen.lifeOf('list_directory'), 'PENDING EXECUTING SUCCEEDED');
  for (const tool of ['write_file', 'run_shell_command', 'fetch_url']) {
    assert.equal(seen.lifeOf(tool), 'PENDING FAILED');
  }
  assert.match(heard(requests[2]), /plan mode does not change or run anything/);
  assert.ok(!existsSync(at('a.txt')) && !existsSync(at('b')));
});

test('in auto-edit mode files are edited at once, and commands asked about', async (t) => {
  const { say, at, seen, answer } = await talk(
    t,
    [writes('a.txt', 'a'), writes('.git/hooks/x', 'x'), shell('touch b'), done],
    { mode: 'auto-edit' },
  );
  assert.equal(end(await say('edit')), asked);
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'a');
  assert.deepEqual(
    seen.waiting.map(({ tool_name }) => tool_name),
    ['run_shell_command'],
  );
  assert.equal(end(await answer('proceed_once')), completed);
  assert.ok(existsSync(at('b')) && !existsSync(at('.git/hooks/x')));
});

test('in yolo mode nothing is asked, and what a rule denies is not done', async (t) => {
  const place = makePlace(t);
  settings(place, {
    policy: [{ tool: 'run_shell_command', pattern: 'touch', decision: 'deny' }],
  });
  const { say, at } = await talk(
    t,
    [writes('a.txt', 'a'), shell('echo b > b'), shell('true && touch c'), done],
    { place, mode: 'yolo' },
  );
  const events = await say('all of it');
  assert.equal(end(events), completed);
  assert.ok(existsSync(at('a.txt')) && existsSync(at('b')) && !existsSync(at('c')));
  const failed = events.map(callIn).find((call) => call?.status === 'FAILED');
  assert.match(failed?.error?.message ?? '', /a rule denies/);
});

test('a prefix that is allowed for good covers further words, and /permissions lists and removes it', async (t) => {
  const place = makePlace(t);
  const { say, answer, goOn } = await talk(
    t,
    [
      shell('npm test --version'),
      done,
      shell('npm test --help'),
      done,
      shell('npm test --version'),
      done,
    ],
    { place },
  );
  const saved = () => readFileSync(join(place.home, 'config', 'settings.json'), 'utf8');
  settings(place, { model: 'offline', policy: [{ tool: 'glob', pattern: 'x', decision: 'deny' }] });
  assert.equal(end(await say('one')), asked);
  assert.equal(end(await answer('proceed_always_prefix_and_save')), completed);
  assert.match(saved(), /"pattern": "npm test"/);
  assert.equal(end(await goOn('with other words')), completed);

  const list = JSON.stringify(await goOn('/permissions'));
  assert.doesNotMatch(list, /In this session:/);
  assert.match(list, /Saved in your settings:/);
  const [, id = ''] = /([0-9a-f]{6}) {2}npm test, with any further words/.exec(list) ?? [];
  assert.doesNotMatch(list, /glob/);
  assert.match(JSON.stringify(await goOn('/permissions remove')), /with an id of the list/);
  assert.match(
    JSON.stringify(await goOn('/permissions remove 000000')),
    /There is no permission 000000/,
  );
  assert.match(JSON.stringify(await goOn(`/permissions remove ${id}`)), /Removed: npm test/);
  assert.doesNotMatch(saved(), /npm test/);
  assert.match(saved(), /"glob"/);
  assert.match(JSON.stringify(await goOn('/permissions')), /There are no permissions/);
  assert.equal(end(await goOn('again')), asked);
  assert.equal(end(await answer('cancel')), completed);
});

test('a permission for later sessions that another session removes ends in the session where it was given', async (t) => {
  const { url, say, answer, goOn } = await talk(t, [
    shell('echo one'),
    done,
    shell('echo one'),
    done,
    shell('echo one'),
  ]);
  await say('one');
  assert.equal(end(await answer('proceed_always_and_save')), completed);
  assert.equal(end(await goOn('again')), completed);
  const [, id = ''] =
    /([0-9a-f]{6}) {2}echo one/.exec(JSON.stringify(await goOn('/permissions'))) ?? [];
  const removal = await stream(url, userMessage(`/permissions remove ${id}`));
  assert.match(JSON.stringify(removal), /Removed: echo one/);
  assert.equal(end(await goOn('again')), asked);
});

test('a rule that denies and the question about .parley outlive permissions, and only options that end the question are offered', async (t) => {
  const place = makePlace(t);
  settings(place, {
    policy: [
      { tool: 'write_file', pattern: 'secrets/**', decision: 'deny' },
      { tool: 'write_file', pattern: 'config/**', decision: 'ask' },
    ],
  });
  const command = writes('.parley/commands/a.md', '1');
  const { say, answer, goOn, onlyWaiting } = await talk(
    t,
    [
      writes('src/a.ts', '1'),
      done,
      writes('secrets/a', '1'),
      done,
      writes('config/a', '1'),
      done,
      command,
      done,
      command,
      done,
    ],
    { place },
  );
  const offered = () => onlyWaiting().confirmation_request?.options.map(({ id }) => id);
  await say('a');
  assert.equal(end(await answer('proceed_always_tool')), completed);
  assert.match(lastCall(await goOn('secrets')).error?.message ?? '', /a rule denies/);
  assert.equal(end(await goOn('config')), asked);
  const narrow = ['proceed_once', 'proceed_always', 'proceed_always_and_save', 'modify', 'cancel'];
  assert.deepEqual(offered(), narrow);
  await answer('proceed_once');
  assert.equal(end(await goOn('a command')), asked);
  assert.deepEqual(offered(), narrow);
  assert.equal(end(await answer('proceed_always_and_save')), completed);
  assert.equal(end(await goOn('the same command')), completed);
});

test('a saved permission that is removed ends in other sessions, and is not in force after a restart', async (t) => {
  const place = makePlace(t);
  settings(place, {
    policy: [
      { tool: 'run_shell_command', pattern: 'touch', decision: 'allow', workspace: '/elsewhere' },
      { tool: 'run_shell_command', pattern: 'touch', decision: 'allow' },
    ],
  });
  const { say, goOn } = await talk(t, [shell('touch a'), done, shell('touch b')], { place });
  assert.equal(end(await say('one')), completed);
  const list = JSON.stringify(await goOn('/permissions'));
  const ids = [...list.matchAll(/([0-9a-f]{6}) {2}touch/g)].map(([, id]) => id);
  assert.equal(ids.length, 1);
  const removal = JSON.stringify(await goOn(`/permissions remove ${ids[0]}`));
  assert.match(removal, /Removed: touch, with any further words/);
  assert.equal(end(await say('in a conversation of its own')), asked);
  const file = readFileSync(join(place.home, 'config', 'settings.json'), 'utf8');
  assert.match(file, /elsewhere/);
  assert.equal(file.match(/touch/g)?.length, 1);
});
