// gemini-cli's a2a-server, by its bytes: it speaks in `working` updates, asks by a data part, goes on with the state
// `input-required`, and ends every turn with it. The real program is tried in test/clients.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { remoteAgent } from '../../src/bridge/index.ts';
import { connect } from '../../src/client/index.ts';
import { textOf } from '../../src/protocol/index.ts';
import { startGateway } from '../support/gateway.ts';
import { bridge, send, statusText } from '../bridge/support.ts';
import { parley } from '../cli/support.ts';
import { clientOf, frame, openStream, reply, sendJson, startPeer } from '../client/peer.ts';

const IDS = { taskId: 't1', contextId: 'c1' };
const CALL = 'run_shell_command-1794796895035-3f2fdc3e468f68';
const FIRST = ['I will ', 'look.'];
const THEN = ['Two files ', 'are here.'];

let messages = 0;

/** An update as the server makes it. Newer ones give all pieces of a text the same message id. */
function update(kind: string, state: string, part?: object, { final = false, id = '' } = {}) {
  const messageId = id === '' ? `m${++messages}` : id;
  const message = part && { kind: 'message', role: 'agent', parts: [part], messageId, ...IDS };
  return {
    kind: 'status-update',
    ...IDS,
    status: { state, message, timestamp: '2026-01-01T00:00:00.000Z' },
    final,
    metadata: { coderAgent: { kind }, model: 'gemini-2.5-pro' },
  };
}

const says = (text: string, id = '') =>
  update('text-content', 'working', { kind: 'text', text }, { id });
const change = (state: string, final = false) =>
  update('state-change', state, undefined, { final });
const thinks = update('thought', 'working', {
  kind: 'data',
  data: { subject: 'Files', description: 'Let me see.' },
});

function call(status: string, state: string, more: object = {}) {
  const request = { callId: CALL, name: 'run_shell_command', args: { command: 'ls' } };
  const tool = { name: 'run_shell_command', displayName: 'Shell', kind: 'execute' };
  const kind = status === 'awaiting_approval' ? 'tool-call-confirmation' : 'tool-call-update';
  return update(kind, state, { kind: 'data', data: { request, status, ...more, tool } });
}

const asks = call('awaiting_approval', 'working', {
  confirmationDetails: {
    type: 'exec',
    title: 'Confirm Shell Command',
    command: 'ls -l | wc',
    rootCommand: 'ls',
  },
});

function output(text: string) {
  const artifact = { artifactId: `tool-${CALL}-output`, parts: [{ kind: 'text', text }] };
  return { kind: 'artifact-update', ...IDS, artifact, append: true, lastChunk: false };
}

const begun = (history: object[]) => ({
  kind: 'task',
  id: IDS.taskId,
  contextId: IDS.contextId,
  status: { state: 'submitted', timestamp: '2026-01-01T00:00:00.000Z' },
  metadata: { _contextId: IDS.contextId },
  history,
  artifacts: [],
});

/** The turn up to its question, with the pieces of the text under one id. */
const asking = [
  change('working'),
  thinks,
  ...FIRST.map((text) => says(text, 'one-id')),
  change('working'),
  call('validating', 'working'),
  asks,
  change('input-required', true),
];
/** The rest of the turn. The server repeats the state before the answer. */
const answering = [
  call('scheduled', 'input-required'),
  call('executing', 'input-required'),
  output('a.txt          \n'),
  output('a.txt          \nb.txt          \n'),
  call('success', 'input-required', { response: { callId: CALL, resultDisplay: 'a.txt\nb.txt' } }),
  change('working'),
  ...THEN.map((text) => says(text)),
  change('input-required', true),
];

/** Starts the server: it asks at first, and goes on with the answer. "plain" gets an answer without a call. */
async function startServer(t: TestContext) {
  const peer = await startPeer(t, (asked, response) => {
    if (asked.path.startsWith('/.well-known')) {
      sendJson(response, {
        name: 'Gemini SDLC Agent',
        description: 'Generates code',
        url: `${peer.url}/`,
        protocolVersion: '0.3.0',
        version: '0.0.2',
        capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
        defaultInputModes: ['text'],
        defaultOutputModes: ['text'],
        skills: [],
      });
      return;
    }
    const { message } = asked.body.params;
    const isNew = message['taskId'] === undefined;
    const isPlain = JSON.stringify(message['parts']).includes('"plain"');
    const events: object[] = isPlain ? answering.slice(-4) : isNew ? asking : answering;
    const all = isNew ? [begun([{ ...message, ...IDS }]), ...events] : events;
    if (asked.body.method === 'message/stream') {
      openStream(response);
      response.end(all.map((event) => frame(event)).join(''));
      return;
    }
    const last = events.at(-1) as { status: object };
    const history = events.flatMap((event) =>
      'status' in event && (event as typeof thinks).status.message
        ? [(event as typeof thinks).status.message]
        : [],
    );
    const task = begun([{ ...message, ...IDS }, ...(history as object[])]);
    reply(asked, response, { ...task, status: last.status });
  });
  return peer;
}

/** The words of the call that waits, which are a part of the text. */
const QUESTION = 'Confirm Shell Command\nls -l | wc\ncommand: "ls"';

test('text in working updates is the text of the answer, and the output of a call is not', async (t) => {
  const client = await clientOf(t, (await startServer(t)).url);
  const to = { taskId: IDS.taskId };
  assert.equal(await client.send('plain').text(), THEN.join(''));
  assert.equal(await client.stream('plain').text(), THEN.join(''));
  assert.equal(await client.stream('look').text(), `${FIRST.join('')}\n\n${QUESTION}`);
  const stream = client.stream('yes', to);
  const chunks: string[] = [];
  for await (const chunk of stream.textChunks()) chunks.push(chunk);
  assert.deepEqual(chunks, THEN);
  assert.equal(stream.task?.status.state, 'input-required');
});

test('send prints the text and the question, with its options and how to answer', async (t) => {
  const { url } = await startServer(t);
  const runs = await Promise.all([
    parley(['send', url, 'look']),
    parley(['send', url, '--stream', 'look']),
  ]);
  for (const { code, out, err } of runs) {
    assert.deepEqual([code, out], [0, `${FIRST.join('')}\n`]);
    assert.match(err, /The agent asks: Confirm Shell Command\n {2}\| ls -l \| wc\n/);
    assert.match(err, new RegExp(`--data '{"callId":"${CALL}","outcome":"proceed_once"}'`));
    assert.match(err, /proceed_once: Allow once\n[^]*proceed_always: [^]*cancel: Reject\n/);
  }
});

test('behind the gateway, its text, question and answer are those of the server itself', async (t) => {
  const peer = await startServer(t);
  await using gateway = await startGateway({ config: { agents: { gemini: { url: peer.url } } } });
  const headers = { authorization: `Bearer ${gateway.key()}` };
  const client = await connect(`${gateway.url}/agents/gemini`, { version: '0.3', headers });
  const asked = client.stream('look');
  assert.equal(await asked.text(), `${FIRST.join('')}\n\n${QUESTION}`);
  const { id = '', status } = asked.task ?? {};
  assert.equal(status?.state, 'input-required');
  const data = { callId: CALL, outcome: 'proceed_once' };
  const rest = client.stream([{ kind: 'data', data }], { taskId: id });
  assert.equal(await rest.text(), THEN.join(''));
  assert.deepEqual(peer.asked.at(-1)?.body.params.message['parts'], [{ kind: 'data', data }]);
  assert.equal((await client.get(id)).status.state, 'input-required');
});

test('remoteAgent asks with the options, and answers in the dialect of the server', async (t) => {
  const peer = await startServer(t);
  const client = await (await bridge(t, remoteAgent({ name: 'gemini', url: peer.url }))).client();
  const waiting = await send(client, 'look');
  assert.equal(waiting.status.state, 'input-required');
  assert.match(statusText(waiting), /ls -l \| wc[^]*Options: Allow once, Always allow, Reject/);
  const done = await send(client, 'Always allow', { taskId: waiting.id });
  assert.equal(done.status.state, 'completed');
  const sent = peer.asked.at(-1)?.body.params.message;
  assert.equal(sent?.['taskId'], IDS.taskId);
  assert.deepEqual(sent?.['parts'], [
    { kind: 'data', data: { callId: CALL, outcome: 'proceed_always' } },
  ]);
  const said = done.artifacts?.map(({ parts }) => textOf(parts)).join('');
  assert.equal(said, `${FIRST.join('')}\n\n${THEN.join('')}`);
});

test('an unclear answer rejects the call; the next prompt goes to the same task', async (t) => {
  const peer = await startServer(t);
  const client = await (await bridge(t, remoteAgent({ name: 'gemini', url: peer.url }))).client();
  const { id, contextId } = await send(client, 'look');
  const done = await send(client, 'what is wc?', { taskId: id });
  assert.equal(done.status.state, 'completed');
  const parts = () => peer.asked.at(-1)?.body.params.message;
  assert.deepEqual(parts()?.['parts'], [
    { kind: 'data', data: { callId: CALL, outcome: 'cancel' } },
  ]);
  await send(client, 'plain', { contextId });
  assert.equal(parts()?.['taskId'], IDS.taskId);
});

for (const option of ['allow once', 'proceed_once']) {
  test(`with the context alone, only the name or the id of an option answers: ${option}`, async (t) => {
    const peer = await startServer(t);
    const client = await (await bridge(t, remoteAgent({ name: 'gemini', url: peer.url }))).client();
    const { id, contextId } = await send(client, 'look');
    for (const text of ['ok', 'yes', 'what is wc?']) {
      const other = await send(client, text, { contextId });
      assert.notEqual(other.id, id, text);
      await client.cancel(other.id).catch(() => undefined);
    }
    const still = await client.get(id);
    assert.equal(still.status.state, 'input-required');
    const outcomes = JSON.stringify(peer.asked.map(({ body }) => body));
    assert.doesNotMatch(outcomes, /"outcome"/);
    const done = await send(client, option, { contextId });
    assert.deepEqual([done.id, done.status.state], [id, 'completed']);
  });
}
