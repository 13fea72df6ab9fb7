import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvent, memorySessions } from '../../agent/index.ts';
import { WORKSPACE_KEY } from '../../coder/index.ts';
import {
  findSession,
  folderToResume,
  localSession,
  ONE_OFF_KEY,
  recentSessions,
} from './stored-sessions.ts';

/** A conversation in /here, then newer single turns of `parley -p` in /other. */
async function stored(oneOffs: number) {
  const sessions = memorySessions();
  const add = async (id: string, folder: string, isOneOff: boolean): Promise<void> => {
    const state = { [WORKSPACE_KEY]: folder, ...(isOneOff && { [ONE_OFF_KEY]: true }) };
    await sessions.open(localSession(id), state);
    const content = { role: 'user' as const, parts: [{ kind: 'text' as const, text: id }] };
    await sessions.append(localSession(id), [
      createEvent({ runId: `run-${id}`, author: 'user' }, { content }),
    ]);
  };
  await add('the talk', '/here', false);
  for (let index = 0; index < oneOffs; index++) await add(`turn ${index}`, '/other', true);
  return { sessions, add };
}

test('the last conversation of a folder is found behind many newer sessions of other folders', async () => {
  const { sessions } = await stored(150);
  assert.equal((await findSession(sessions, '', '/here')).id, 'the talk');
  assert.equal((await findSession(sessions, '', '/here', { onlyTalks: true })).id, 'the talk');
  assert.equal((await findSession(sessions, '', '/other')).id, 'turn 149');
  await assert.rejects(
    findSession(sessions, '', '/other', { onlyTalks: true }),
    /there is no conversation in \/other yet/,
  );
});

test('a person can choose among the last 100 conversations, however many single turns there are', async () => {
  const { sessions, add } = await stored(150);
  assert.deepEqual(
    (await recentSessions(sessions)).map(({ id }) => id),
    ['the talk'],
  );
  for (let index = 0; index < 120; index++) await add(`talk ${index}`, '/other', false);
  const offered = await recentSessions(sessions);
  assert.deepEqual(
    [offered.length, offered[0]?.id, offered.at(-1)?.id],
    [100, 'talk 119', 'talk 20'],
  );
});

test('if the folder of a session no longer exists, the error says so, with and without --workspace', async () => {
  const { sessions } = await stored(0);
  const session = await findSession(sessions, 'the talk', '/');
  for (const given of [[], ['/other']]) {
    await assert.rejects(
      folderToResume(session, given, '/other'),
      /the session works in \/here, which no longer exists: create or restore this folder, or start a new session/,
    );
  }
});
