import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  cardOf,
  chunk,
  frame,
  message,
  openStream,
  reply,
  replyError,
  sendJson,
  startPeer,
  status,
  task,
} from '../../../../test/client/peer.ts';
import { INITIAL, type SessionState } from '../../../display/index.ts';
import { reduceState } from '../../../display/state/index.ts';
import type { LiveSession } from '../../../live/client/index.ts';
import { EXTENSION_URI } from '../../../protocol/development-tool/index.ts';

// The modules of the page read these when they are loaded.
Object.assign(globalThis, {
  location: { href: 'http://localhost/console' },
  document: { querySelector: () => null },
});
const { openAgentSession } = await import('./agent-session.ts');

const TASK_NOT_FOUND = -32001;

/** Starts an agent that has the given tasks and answers each message with the next of `answers`. */
async function startAgent(
  t: TestContext,
  { tasks = [], answers = [] }: { tasks?: { id: string }[]; answers?: object[][] },
) {
  const left = [...answers];
  const peer = await startPeer(t, (asked, response) => {
    const { method, params } = asked.body;
    if (asked.verb === 'GET') return sendJson(response, cardOf(peer.url));
    if (method === 'tasks/list') return reply(asked, response, { tasks });
    if (method === 'tasks/get') {
      const found = tasks.find(({ id }) => id === params.id);
      return found ? reply(asked, response, found) : replyError(asked, response, TASK_NOT_FOUND);
    }
    openStream(response);
    for (const event of left.shift() ?? []) response.write(frame(event));
    return response.end();
  });
  const remembered: string[] = [];
  const open = async (taskId?: string) => {
    const onTask = (id: string) => void remembered.push(id);
    const session = await openAgentSession(peer.url, {
      token: undefined,
      name: 'browser',
      taskId,
      onTask,
    });
    t.after(() => session.close());
    return session;
  };
  const sent = (method: string) => peer.asked.filter(({ body }) => body.method === method);
  return { open, remembered, sent };
}

/** Ends the session, and returns the texts that the page has shown. */
async function textsOf(session: LiveSession): Promise<string[]> {
  await session.close();
  let state = INITIAL;
  for await (const item of session.items()) state = reduceState(state, item);
  return textsIn(state);
}

function textsIn({ log: { finished, open } }: SessionState): string[] {
  return [...finished, ...open].map((entry) => ('text' in entry ? entry.text : entry.kind));
}

test('a Message as the answer is shown, but it is no task to load again', async (t) => {
  const { open, remembered } = await startAgent(t, { answers: [[message('Hi.')]] });
  const session = await open();
  await session.prompt('hello');
  assert.deepEqual(remembered, []);
  assert.deepEqual(await textsOf(session), ['hello', 'Hi.']);
});

test('after a Message without a context, the next message has none either', async (t) => {
  const answers = [[message('Hi.')], [{ ...message('Yes.'), contextId: 'c7' }], [message('Bye.')]];
  const { open, sent } = await startAgent(t, { answers: [...answers, [message('Bye.')]] });
  const session = await open();
  for (const text of ['one', 'two', 'three', 'four']) await session.prompt(text);
  const contexts = sent('message/stream').map(({ body }) => body.params.message['contextId']);
  assert.deepEqual(contexts, [undefined, undefined, 'c7', 'c7']);
});

test('a Message continues the conversation of an earlier task', async (t) => {
  const answers = [[task('completed')], [message('Hi.')], [message('Bye.')]];
  const { open, remembered, sent } = await startAgent(t, { answers });
  const session = await open();
  for (const text of ['one', 'two', 'three']) await session.prompt(text);
  const places = sent('message/stream').map(({ body: { params } }) => [
    params.message['taskId'],
    params.message['contextId'],
  ]);
  assert.deepEqual(places, [
    [undefined, undefined],
    [undefined, 'c1'],
    [undefined, 'c1'],
  ]);
  assert.deepEqual(remembered, ['t1']);
});

test('if the task of the tab no longer exists, no other task is shown', async (t) => {
  const { open } = await startAgent(t, {
    tasks: [{ ...task('completed', 'Other.'), id: 'other' }],
  });
  assert.deepEqual(await textsOf(await open('gone')), []);
});

test('the task of the tab is loaded with the extensions of the page', async (t) => {
  const { open, sent } = await startAgent(t, { tasks: [task('completed', 'Done.')] });
  assert.deepEqual(await textsOf(await open('t1')), ['Done.']);
  const [asked] = sent('tasks/get');
  assert.equal(asked?.headers['x-a2a-extensions'], EXTENSION_URI);
});

test('after a reload, the text of a running task is shown once', async (t) => {
  const sent = { ...message('hello'), role: 'user' };
  const running = { ...task('working', 'So far.'), history: [sent] };
  const answers = [[running, chunk(' Done.'), status('completed', true)]];
  const { open } = await startAgent(t, { tasks: [running], answers });
  const session = await open('t1');
  let state = INITIAL;
  for await (const item of session.items()) {
    state = reduceState(state, item);
    if (state.turn === 'completed') break;
  }
  assert.deepEqual(textsIn(state), ['hello', 'So far. Done.']);
});
