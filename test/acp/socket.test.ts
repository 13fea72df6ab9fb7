// ACP over real WebSockets, beside A2A, on one live session.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test, type TestContext } from 'node:test';
import { methods } from '@agentclientprotocol/sdk';
import { WebSocket } from 'ws';
import type { ToolCall } from '../../src/protocol/development-tool/index.ts';
import { allowed, editorAt, editorIn, startLive, type Editor } from './support.ts';

const shell = { name: 'run_shell_command', args: { command: 'echo hi' } };
const asking = { script: [[{ call: shell }], [{ text: 'Ran.' }]] };

for (const [path, protocols, how] of [
  ['/acp', [], 'at its own path'],
  ['/ws', ['acp'], 'by the subprotocol'],
  ['/ws', [], 'by the first frame'],
] as const) {
  test(`ACP is spoken ${how}`, async (t) => {
    const { url, live } = await startLive(t, { script: [[{ text: 'Hello.' }]] });
    const editor = await editorAt(t, url + path, [...protocols]);
    const { sessionId } = await editor.open();
    assert.equal(sessionId, live.contextId);
    assert.deepEqual(await editor.prompt('hi'), { stopReason: 'end_turn' });
    assert.equal(editor.text, 'Hello.');
  });
}

test('the answer to the upgrade at /acp has the id of the connection, as the transport asks', async (t) => {
  const { url } = await startLive(t);
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/acp`);
  t.after(() => socket.terminate());
  const [response] = (await once(socket, 'upgrade')) as [IncomingMessage];
  assert.match(response.headers['acp-connection-id']?.toString() ?? '', /^[0-9a-f-]{36}$/);
});

test('an editor is in the session under the name that it tells, from when it has it open', async (t) => {
  const { url, live } = await startLive(t);
  const names = () => live.clients.map(({ name, kind }) => `${kind} ${name}`);
  const editor = await editorAt(t, `${url}/ws`);
  await editor.initialize('Zed');
  assert.deepEqual(names(), []);
  const { agent } = editor.connection;
  const enter = () => agent.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
  const { sessionId } = await enter();
  await enter();
  assert.deepEqual(names(), ['acp Zed']);
  const named = await editorAt(t, `${url}/acp?name=desk`);
  await named.open();
  assert.deepEqual(names(), ['acp Zed', 'acp desk']);
  await agent.request(methods.agent.session.close, { sessionId });
  assert.deepEqual(names(), ['acp desk']);
});

/** A client that speaks A2A on `/ws`. */
async function a2aAt(t: TestContext, url: string) {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws?name=phone`, ['a2a']);
  t.after(() => socket.terminate());
  const pending = Promise.withResolvers<ToolCall>();
  const answers: { error?: { code: number; data?: unknown }; result?: unknown }[] = [];
  const answered = Promise.withResolvers<void>();
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString());
    if ('id' in frame) {
      answers.push(frame);
      answered.resolve();
    }
    const part = frame.params?.event?.status?.message?.parts[0];
    if (part?.data?.confirmation_request) pending.resolve(part.data);
  });
  await once(socket, 'open');
  return {
    pending: pending.promise,
    async confirm({ tool_call_id }: ToolCall, selected_option_id: string) {
      const params = { tool_call_id, selected_option_id };
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/confirm', params }));
      await answered.promise;
      return answers[0]!;
    },
  };
}

async function waiting(...editors: Editor[]): Promise<void> {
  await Promise.all(editors.map((editor) => editor.until(() => editor.asked.length === 1)));
}

test('a permission that an A2A client settles is withdrawn from both editors', async (t) => {
  const started = await startLive(t, asking);
  const [one, other] = [
    await editorAt(t, `${started.url}/ws`),
    await editorAt(t, `${started.url}/acp`),
  ];
  const phone = await a2aAt(t, started.url);
  await one.open();
  await other.open();
  const ended = one.prompt('run');
  await waiting(one, other);
  assert.deepEqual((await phone.confirm(await phone.pending, 'proceed_once')).result, {
    resolved: true,
  });
  assert.deepEqual(await ended, { stopReason: 'end_turn' });
  for (const editor of [one, other]) {
    await editor.until(() => editor.withdrawn.length === 1 && editor.text === 'Ran.');
    const { toolCallId } = editor.asked[0]!.toolCall;
    assert.deepEqual(editor.withdrawn, [toolCallId]);
    const [, settled] = editor.updates.filter((each) => 'toolCallId' in each);
    assert.deepEqual(settled?._meta, {
      'parley.resolution': { resolvedBy: 'phone', selectedOptionId: 'proceed_once' },
    });
  }
});

test('a permission that one editor settles is withdrawn from the other, and A2A is too late', async (t) => {
  const started = await startLive(t, asking);
  const [one, other] = [
    await editorAt(t, `${started.url}/ws`),
    await editorAt(t, `${started.url}/acp`),
  ];
  const phone = await a2aAt(t, started.url);
  await one.open();
  await other.open();
  const answer = Promise.withResolvers<typeof allowed>();
  one.answer = () => answer.promise;
  const ended = one.prompt('run');
  await waiting(one, other);
  const call = await phone.pending;
  answer.resolve(allowed);
  assert.deepEqual(await ended, { stopReason: 'end_turn' });
  await other.until(() => other.withdrawn.length === 1);
  const { error } = await phone.confirm(call, 'cancel');
  assert.equal(error?.code, -32004);
  assert.match(
    JSON.stringify(error),
    /ALREADY_RESOLVED.*proceed_once|proceed_once.*ALREADY_RESOLVED/,
  );
});

test('what an editor says to a request that was withdrawn is not heard', async (t) => {
  const script = [...asking.script, [{ text: 'Still here.' }]];
  const started = await startLive(t, { script });
  const [slow, quick] = [editorIn(t, started), editorIn(t, started)];
  const late = Promise.withResolvers<typeof allowed>();
  slow.answer = () => late.promise;
  quick.answer = () => allowed;
  await slow.open();
  await quick.open();
  await quick.prompt('run');
  late.resolve({ outcome: { outcome: 'selected', optionId: 'cancel' } });
  assert.deepEqual(await slow.prompt('and now'), { stopReason: 'end_turn' });
  assert.equal(slow.text, 'Ran.Still here.');
  assert.equal(slow.of('tool_call_update').at(-1)?.status, 'completed');
});

test('an editor that is cut off leaves, and the others go on', async (t) => {
  const started = await startLive(t, asking);
  const gone = await editorAt(t, `${started.url}/acp`);
  const stays = editorIn(t, started);
  await gone.open();
  await stays.open();
  gone.prompt('run').catch(() => {});
  await waiting(gone, stays);
  gone.socket.terminate();
  const back = await editorAt(t, `${started.url}/acp`);
  back.answer = () => allowed;
  await back.initialize();
  await back.load(started.live.contextId);
  await back.until(() => back.text === 'Ran.');
  // Their own words, as those of somebody else of that name would be.
  assert.deepEqual(back.heard, ['run']);
  assert.equal(started.live.clients.length, 2);
});

test('frames that are no JSON are answered as such, and the connection goes on', async (t) => {
  const { url } = await startLive(t, { script: [[{ text: 'Hello.' }]] });
  const editor = await editorAt(t, `${url}/acp`);
  const answer = once(editor.socket, 'message');
  editor.socket.send('{"jsonrpc":');
  const [data] = await answer;
  assert.equal(JSON.parse(String(data)).error.code, -32700);
  await editor.open();
  assert.deepEqual(await editor.prompt('hi'), { stopReason: 'end_turn' });
});

test('the end of the session ends what was asked in it', async (t) => {
  const started = await startLive(t, asking);
  const editor = await editorAt(t, `${started.url}/acp`);
  await editor.open();
  const ended = editor.prompt('run');
  await waiting(editor);
  await started.live.close();
  await assert.rejects(ended, /The session has ended|closed/);
});

test('an editor that reads nothing is dropped, and the session is unharmed', async (t) => {
  const content = 'x'.repeat(900_000);
  const calls = Array.from({ length: 12 }, (_, index) => ({
    call: { name: 'write_file', args: { path: `${index}.txt`, content } },
  }));
  const script = [...calls.map((call) => [call]), [{ text: 'Written.' }]];
  const started = await startLive(t, { script, mode: 'auto-edit', stallMs: 200 });
  const deaf = await editorAt(t, `${started.url}/acp`);
  const watcher = started.live.join({ kind: 'terminal' });
  await deaf.open();
  deaf.socket.pause();
  await watcher.prompt('write much');
  for await (const item of watcher.items()) {
    if (item.kind === 'presence' && item.clients.length === 1) break;
  }
  const editor = editorIn(t, started);
  await editor.open();
  await editor.until(() => editor.text === 'Written.');
});
