// Who cancels a task of a bridged agent cancels all of it: what waits elsewhere, and what would be done later.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { customAgent } from '../../src/agent/agents/custom.ts';
import { llmAgent } from '../../src/agent/agents/llm.ts';
import { parallelAgent, sequentialAgent } from '../../src/agent/agents/workflow.ts';
import { contentText } from '../../src/agent/content.ts';
import type { ModelRequest } from '../../src/agent/model.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { agentTool } from '../../src/agent/agents/agent-tool.ts';
import { remoteAgent } from '../../src/bridge/remote/agent.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { bridge, lastOf, modelOf, send, toolOf } from './support.ts';

const asking = customAgent({ name: 'asking', description: 'Asks' }, async function* (ctx) {
  yield ctx.question('city', { text: 'Which city?' });
});
const local = customAgent({ name: 'local' }, async function* () {
  yield 'passing on';
});

test('a cancel reaches the remote agents that wait for the answer, through every server between', async (t) => {
  const inner = await bridge(t, asking);
  const innermost = await inner.client();
  const between = await bridge(t, remoteAgent({ name: 'between', url: inner.url }));
  const subAgents = ['left', 'right'].map((name) => remoteAgent({ name, url: between.url }));
  const both = parallelAgent({ name: 'both', subAgents });
  const outer = await bridge(t, sequentialAgent({ name: 'outer', subAgents: [local, both] }));
  const client = await outer.client();
  const task = await send(client, 'go');
  assert.equal(task.status.state, 'input-required');
  const states = async () => (await innermost.list()).tasks.map(({ status }) => status.state);
  assert.deepEqual(await states(), ['input-required', 'input-required']);
  assert.equal((await client.cancel(task.id)).status.state, 'canceled');
  assert.deepEqual(await states(), ['canceled', 'canceled']);
});

test('a cancel reaches a remote agent that waits as a tool, and its session is gone', async (t) => {
  const inner = await bridge(t, asking);
  const innermost = await inner.client();
  const tool = agentTool(remoteAgent({ name: 'remote', url: inner.url }));
  const call = { name: 'remote', args: { request: 'go' } };
  const agent = llmAgent({ name: 'outer', model: scriptedModel([[{ call }]]), tools: [tool] });
  const sessions = memorySessions();
  const client = await (await bridge(t, agent, { sessions })).client();
  const task = await send(client, 'go');
  assert.equal(task.status.state, 'input-required');
  await client.cancel(task.id);
  const { tasks } = await innermost.list();
  assert.deepEqual(
    tasks.map(({ status }) => status.state),
    ['canceled'],
  );
  const left = await sessions.list({ app: 'outer', user: 'anonymous' });
  assert.deepEqual(
    left.map(({ id }) => id),
    [task.contextId],
  );
});

test('a cancel after a restart reaches the remote agent that waits', async (t) => {
  const inner = await bridge(t, asking);
  const innermost = await inner.client();
  const folder = mkdtempSync(join(tmpdir(), 'parley-cancel-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const start = () =>
    bridge(
      t,
      remoteAgent({ name: 'outer', url: inner.url }),
      { sessions: sqliteSessions(join(folder, 'sessions.db')) },
      { store: sqliteStore(join(folder, 'tasks.db')) },
    );
  const before = await start();
  const task = await send(await before.client(), 'go');
  assert.equal(task.status.state, 'input-required');
  await before.close();
  const client = await (await start()).client();
  assert.equal((await client.cancel(task.id)).status.state, 'canceled');
  const { tasks } = await innermost.list();
  assert.deepEqual(
    tasks.map(({ status }) => status.state),
    ['canceled'],
  );
});

test('a cancel ends a task whose remote agent is not there any more', async (t) => {
  const inner = await bridge(t, asking);
  const agent = remoteAgent({ name: 'remote', url: inner.url, retry: { attempts: 1 } });
  const client = await (await bridge(t, agent)).client();
  const task = await send(client, 'go');
  await inner.close();
  assert.equal((await client.cancel(task.id)).status.state, 'canceled');
});

test('later prompts say of a request that it was canceled, whether it ran or waited', async (t) => {
  const seen: ModelRequest[] = [];
  const begun = Promise.withResolvers<void>();
  const tools = [
    toolOf('ask', { run: (_, ctx) => ctx.ask({ text: 'Really?' }) }),
    toolOf('hang', {
      async run(_, { signal }) {
        begun.resolve();
        await once(signal, 'abort');
      },
    }),
  ];
  const model = modelOf((request) => {
    seen.push(request);
    const said = lastOf(request).at(-1);
    const name = said?.kind === 'text' ? said.text : '';
    const call = { kind: 'function-call', id: `${seen.length}`, name, args: {} } as const;
    return tools.some((tool) => tool.name === name) ? [call] : [{ kind: 'text', text: 'hello' }];
  });
  const agent = llmAgent({ name: 'helper', description: 'Helps', model, tools });
  const client = await (await bridge(t, agent)).client();
  const waiting = await send(client, 'ask');
  await client.cancel(waiting.id);
  const configuration = { blocking: false };
  const { contextId } = waiting;
  const running = await client.send('hang', { contextId, configuration });
  assert.ok(running.kind === 'task');
  await begun.promise;
  await client.cancel(running.id);
  await send(client, 'hello', { contextId });
  const canceled = '[The user canceled this request.]';
  const heard = seen
    .at(-1)!
    .messages.map(({ parts }) =>
      parts.map((part) =>
        part.kind === 'function-response'
          ? part.response
          : part.kind === 'function-call'
            ? `call ${part.name}`
            : contentText({ role: 'user', parts: [part] }),
      ),
    );
  assert.deepEqual(heard, [
    ['ask'],
    ['call ask'],
    ['stopped by the user: this call did not finish', canceled, 'hang'],
    ['call hang'],
    ['stopped by the user: this call did not finish', canceled, 'hello'],
  ]);
});
