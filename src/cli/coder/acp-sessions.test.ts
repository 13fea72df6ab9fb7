// Which stored sessions an editor sees, and which it may load.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createEvent, memorySessions, userContent, type SessionStore } from '../../agent/index.ts';
import { acpSessions } from './stored-sessions.ts';

const here = realpathSync(mkdtempSync(join(tmpdir(), 'parley-acp-')));
const [left, right] = [join(here, 'left'), join(here, 'right')];
for (const folder of [left, right]) mkdirSync(folder);
after(() => rmSync(here, { recursive: true, force: true }));

interface Stored {
  readonly folder?: string;
  readonly user?: string;
  /** The prompts. A command is an aside. */
  readonly said?: readonly string[];
}

async function store(sessions: SessionStore, id: string, stored: Stored = {}): Promise<void> {
  const { folder = left, user = 'anonymous', said = [`prompt of ${id}`] } = stored;
  const key = { app: 'coder', user, id };
  await sessions.open(key, { 'coder.workspace': folder });
  const events = said.map((text, index) => ({
    id: `${id}-${index}`,
    runId: `${id}-${index}`,
    timestamp: index,
    author: 'user',
    content: userContent(text),
    actions: {},
    aside: text.startsWith('/'),
  }));
  await sessions.append(key, events);
}

test('sessions are listed with their folder, title and time, the latest first', async () => {
  const sessions = memorySessions();
  await store(sessions, 's1', { said: ['/model offline', 'hello  there'] });
  await store(sessions, 's2', { folder: right });
  const { sessions: listed, nextCursor } = await acpSessions(sessions, undefined).list({});
  assert.deepEqual(
    listed.map(({ sessionId, cwd, title }) => [sessionId, cwd, title]),
    [
      ['s2', right, 'prompt of s2'],
      ['s1', left, 'hello there'],
    ],
  );
  assert.ok(listed.every(({ updatedAt }) => !Number.isNaN(Date.parse(updatedAt))));
  assert.equal(nextCursor, undefined);
});

test('sessions in which nothing was sent, of helpers and of other users are not listed', async () => {
  const sessions = memorySessions();
  await store(sessions, 'empty', { said: [] });
  await store(sessions, 'resumed', { said: [] });
  // The flags of a command that resumes a session are stored, too.
  const flags = createEvent({ runId: 'flags-1', author: 'user' }, { aside: true });
  await sessions.append({ app: 'coder', user: 'anonymous', id: 'resumed' }, [flags]);
  await store(sessions, 'agent-tool-1');
  await store(sessions, 'other', { user: 'ann' });
  await store(sessions, 'mine');
  await store(sessions, 'command', { said: ['/model offline'] });
  const { sessions: listed } = await acpSessions(sessions, undefined).list({});
  assert.deepEqual(
    listed.map(({ sessionId }) => sessionId),
    ['command', 'mine'],
  );
});

test('the list can be limited to a folder, and is limited to the allowed folders', async () => {
  const sessions = memorySessions();
  await store(sessions, 's1');
  await store(sessions, 's2', { folder: right });
  const link = join(here, 'link');
  symlinkSync(right, link);
  const ids = async (allowed: string[] | undefined, cwd?: string) => {
    const query = cwd === undefined ? {} : { cwd };
    const { sessions: listed } = await acpSessions(sessions, allowed).list(query);
    return listed.map(({ sessionId }) => sessionId);
  };
  assert.deepEqual(await ids(undefined, left), ['s1']);
  assert.deepEqual(await ids(undefined, link), ['s2']);
  assert.deepEqual(await ids(undefined, join(here, 'nowhere')), []);
  assert.deepEqual(await ids([left]), ['s1']);
  assert.deepEqual(await ids([left], right), []);
});

test('a long list has pages, and every session is on exactly one of them', async () => {
  const sessions = memorySessions();
  for (let n = 0; n < 270; n++) {
    await store(sessions, `s${n}`, { folder: n % 90 === 0 ? right : left });
  }
  const host = acpSessions(sessions, undefined);
  const read = async (cwd: string) => {
    const found: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await host.list({ cwd, ...(cursor !== undefined && { cursor }) });
      found.push(...page.sessions.map(({ sessionId }) => sessionId));
      assert.ok(page.sessions.length <= 50);
      cursor = page.nextCursor;
      pages++;
    } while (cursor !== undefined);
    return { found, pages };
  };
  const all = await read(left);
  assert.equal(new Set(all.found).size, 267);
  assert.equal(all.found.length, 267);
  // Few sessions match, and a page is made from a limited number of sessions.
  assert.deepEqual(await read(right), { found: ['s180', 's90', 's0'], pages: 2 });
  await assert.rejects(host.list({ cursor: 'nowhere' }), { message: /list again without it/ });
});

test('a session is opened only in its own folder', async () => {
  const sessions = memorySessions();
  await store(sessions, 's1', { said: [] });
  const host = acpSessions(sessions, [here]);
  assert.equal(await host.folderFor({ cwd: left, sessionId: 's1' }), left);
  assert.equal(await host.folderFor({ cwd: right }), right);
  const refused = (cwd: string, sessionId: string | undefined, message: RegExp) =>
    assert.rejects(host.folderFor({ cwd, ...(sessionId !== undefined && { sessionId }) }), {
      message,
    });
  await refused(right, 's1', new RegExp(`belongs to the folder ${left}; send this folder as cwd`));
  await refused(join(here, 'nowhere'), 's1', /cwd: .*no such folder/);
  await refused(tmpdir(), undefined, /outside the --workspace folders/);
  await refused(left, 'unknown', /No such session/);
  await store(sessions, 'agent-tool-1');
  for (const id of ['agent-tool-1', '', 'a\0', 'x'.repeat(5000)]) {
    await refused(left, id, /No such session/);
  }
});

test('a session outside the allowed folders is not deleted', async () => {
  const sessions = memorySessions();
  await store(sessions, 's1');
  await store(sessions, 's2', { folder: right });
  const limited = acpSessions(sessions, [left]);
  await limited.checkFolder('s1');
  await limited.checkFolder('unknown');
  await assert.rejects(limited.checkFolder('s2'), /outside the --workspace folders/);
  await acpSessions(sessions, undefined).checkFolder('s2');
});
