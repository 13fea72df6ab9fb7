// What is kept of the conversations with the coding agent: listing, printing, forgetting.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createEvent } from '../../src/agent/index.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { assertRefused, folder, lines, parley } from './support.ts';

/** Loads the sources of the terminal UI. */
const TSX_HOOK = import.meta.resolve('../support/tsx-hook.ts');

function place(name: string) {
  const root = path.join(realpathSync(folder), name);
  const cwd = path.join(root, 'work');
  mkdirSync(cwd, { recursive: true });
  const env = { PARLEY_HOME: path.join(root, 'home'), XDG_CONFIG_HOME: path.join(root, 'config') };
  return { cwd, env };
}

describe('sessions', { concurrency: 3 }, () => {
  test('are listed, the latest first, and printed as Markdown or JSON', async () => {
    const here = place('printed');
    const model = ['--model', 'offline'];
    await parley(['-p', 'list', ...model], here);
    await parley(['-p', 'create a.md with "```"', '--approval', 'yolo', ...model], here);
    const [last, first, ...others] = lines((await parley(['sessions', '--json'], here)).out);
    assert.deepEqual([last?.['title'], first?.['title']], ['create a.md with "```"', 'list']);
    assert.equal(last?.['workspace'], here.cwd);
    assert.deepEqual(others, []);
    const id = String(last['id']);
    assert.match((await parley(['sessions'], here)).out, new RegExp(`^${id} .*create a.md`));

    const { out } = await parley(['export', id], here);
    assert.match(out, new RegExp(`^# Session ${id}\n`));
    assert.match(
      out,
      /\n## You\n\ncreate a\.md with "```"\n\n## Parley\n\n\*\*write_file\*\*\n\n````json\n/,
    );
    assert.match(out, /\n\nI wrote a\.md\.\n$/);
    const json = await parley(['export', id, '--output', 'json'], here);
    const session = JSON.parse(json.out) as {
      id: string;
      events: object[];
      approvals: { decision: string; call: string }[];
    };
    assert.equal(session.id, id);
    assert.ok(session.events.length >= 4);
    assert.match(
      out,
      /\n## Approvals\n\n```\n\S+Z {2}automatic: everything is allowed .* Write a\.md\n/,
    );
    const [automatic] = session.approvals;
    assert.deepEqual([automatic?.decision, automatic?.call], ['automatic', 'Write a.md']);
  });

  // /dev/full refuses every write, like a full disk.
  test(
    'a list that cannot be written is an error',
    { skip: !existsSync('/dev/full') },
    async () => {
      const here = place('unwritten');
      for (const prompt of ['list', 'read a']) {
        await parley(['-p', prompt, '--model', 'offline'], here);
      }
      for (const args of [['sessions'], ['sessions', '--json']]) {
        const ended = await parley(args, { ...here, out: '/dev/full' });
        assertRefused(ended, 1, /cannot write standard output \(ENOSPC.*another place\n$/);
      }
    },
  );

  test('are resumed only in their own folder', async () => {
    const here = place('resumed');
    const model = ['--model', 'offline'];
    await parley(['-p', 'list', ...model], here);
    const [session] = lines((await parley(['sessions', '--json'], here)).out);
    const resume = ['--resume', String(session?.['id']), ...model];
    const elsewhere = path.join(here.cwd, '..', 'elsewhere');
    mkdirSync(elsewhere);
    const env = { ...here.env, NODE_OPTIONS: `--import=${TSX_HOOK}` };
    const says = new RegExp(
      `: the session works in ${here.cwd}: leave out --workspace \\(or PARLEY_WORKSPACE\\)`,
    );
    for (const start of [['--plain'], ['-p', 'list']]) {
      const other = [...start, ...resume, '--workspace', elsewhere];
      assertRefused(await parley(other, { cwd: here.cwd, env, input: '' }), 2, says);
      const set = { ...env, PARLEY_WORKSPACE: elsewhere };
      assertRefused(await parley([...start, ...resume], { env: set, input: '' }), 2, says);
      const own = [...start, ...resume, '--workspace', here.cwd];
      const ended = await parley(own, { cwd: elsewhere, env, input: '' });
      assert.equal(ended.code, 0, ended.err);
    }
  });

  test('are printed with each result of a tool under the agent, also after an approval', async () => {
    const here = place('approved');
    const file = path.join(here.cwd, 'tasks.db');
    const sessions = sqliteSessions(`${file}.sessions`);
    const key = { app: 'coder', user: 'anonymous', id: 's1' };
    await sessions.open(key);
    const user = { runId: 'r1', author: 'user' };
    const agent = { runId: 'r1', author: 'coder' };
    const call = { id: 'c1', name: 'read_file' };
    await sessions.append(key, [
      createEvent(user, { content: { role: 'user', parts: [{ kind: 'text', text: 'read a' }] } }),
      createEvent(agent, {
        content: { role: 'model', parts: [{ kind: 'function-call', ...call, args: {} }] },
      }),
      createEvent(user, { actions: { answers: [{ questionId: 'c1', confirmed: true }] } }),
      createEvent(agent, {
        content: { role: 'user', parts: [{ kind: 'function-response', ...call, response: 'A' }] },
      }),
    ]);
    await sessions.close();
    const { out } = await parley(['export', 's1', '--store', `sqlite:${file}`], here);
    assert.match(out, /\n## You\n\n\*Approved\.\*\n\n## Parley\n\n```\nA\n```\n$/);
  });

  test('of another user are not shown unless they are asked for', async () => {
    const here = place('users');
    const file = path.join(here.cwd, 'tasks.db');
    const sessions = sqliteSessions(`${file}.sessions`);
    await sessions.open({ app: 'coder', user: 'ann', id: 's1' });
    // An editor opened these, and sent nothing.
    for (let n = 0; n < 60; n++) {
      const key = { app: 'coder', user: n === 0 ? 'anonymous' : 'ann', id: `unused${n}` };
      await sessions.open(key, { 'coder.workspace': here.cwd });
    }
    await sessions.close();
    const store = ['--store', `sqlite:${file}`];
    const mine = await parley(['sessions', ...store], here);
    assert.deepEqual([mine.code, mine.out], [0, '']);
    assert.match(
      (await parley(['sessions', '--user', 'ann', ...store], here)).out,
      /^s1 [^\n]*\n$/,
    );
  });

  test('are forgotten after the days that the settings name', async () => {
    const here = place('old');
    const config = path.join(here.env.XDG_CONFIG_HOME, 'parley');
    mkdirSync(config, { recursive: true });
    writeFileSync(path.join(config, 'settings.json'), '{ "limits": { "retentionDays": 2 } }');
    const day = 86_400_000;
    for (const [id, age] of [
      ['old', 3 * day],
      ['young', day],
    ] as const) {
      mkdirSync(here.env.PARLEY_HOME, { recursive: true });
      const file = path.join(here.env.PARLEY_HOME, 'coder.db.sessions');
      const sessions = sqliteSessions(file, { now: () => Date.now() - age });
      await sessions.open({ app: 'coder', user: 'anonymous', id });
      await sessions.close();
    }
    await parley(['-p', 'list', '--model', 'offline'], here);
    const ids = lines((await parley(['sessions', '--json'], here)).out).map(({ id }) => id);
    assert.equal(ids.length, 2);
    assert.ok(ids.includes('young'));
  });
});
