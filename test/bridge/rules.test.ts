// What a client sees of an agent of the framework, rule by rule, over a real port.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Agent } from '../../src/agent/agent.ts';
import { customAgent, type CustomAgentFunction } from '../../src/agent/agents/custom.ts';
import { llmAgent } from '../../src/agent/agents/llm.ts';
import { parallelAgent, sequentialAgent } from '../../src/agent/agents/workflow.ts';
import { contentText, type ContentPart } from '../../src/agent/content.ts';
import type { EventFields } from '../../src/agent/event.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import type { StreamEvent } from '../../src/protocol/index.ts';
import { type Authenticate, bearerTokens } from '../../src/server.ts';
import { answers, bridge, data, isResponse, send, statusText, toolOf } from './support.ts';

function agentOf(run: CustomAgentFunction, name = 'helper'): Agent {
  return customAgent({ name, description: 'Helps' }, run);
}

function says(...parts: ContentPart[]): EventFields {
  return { content: { role: 'model', parts } };
}

const text = (said: string): ContentPart => ({ kind: 'text', text: said });

const SECRET = 'postgres://admin:hunter2@db';

for (const version of ['0.3', '1.0'] as const) {
  describe(`over ${version}`, () => {
    test('text is streamed as chunks of one artifact, and is not said again', async (t) => {
      const agent = agentOf(async function* (ctx) {
        yield 'You said: ';
        yield contentText(ctx.input);
      });
      const client = await (await bridge(t, agent)).client({ version });
      const events: StreamEvent[] = [];
      const stream = client.stream('hello');
      for await (const { event } of stream) events.push(event);
      const chunks = events.filter((event) => event.kind === 'artifact-update');
      assert.equal(chunks.length, 3);
      assert.equal(new Set(chunks.map(({ artifact }) => artifact.artifactId)).size, 1);
      assert.deepEqual(
        chunks.map(({ append, lastChunk }) => [append === true, lastChunk === true]),
        [
          [false, false],
          [true, false],
          [true, true],
        ],
      );
      assert.ok(stream.task);
      assert.deepEqual(answers(stream.task), ['You said: hello']);
      assert.equal(stream.task.status.state, 'completed');
      assert.equal(stream.task.status.message, undefined);
      assert.equal(stream.task.artifacts?.[0]?.parts.length, 1);
    });

    test('a question is asked, and its answer goes on with the same run', async (t) => {
      let begun = 0;
      const agent = agentOf(async function* (ctx) {
        const city = ctx.answer('city');
        if (!city) {
          begun++;
          yield 'A trip! ';
          yield ctx.question('city', { text: 'Which city?', options: ['Rome', 'Oslo'] });
          return;
        }
        yield `${contentText(ctx.input)} to ${city.value as string} in run ${ctx.runId}`;
      });
      const client = await (await bridge(t, agent)).client({ version });
      const asked = await send(client, 'book');
      assert.equal(asked.status.state, 'input-required');
      assert.equal(statusText(asked), 'Which city?\nOptions: Rome, Oslo');
      const done = await send(client, 'rome', { taskId: asked.id });
      assert.equal(done.status.state, 'completed');
      assert.deepEqual(answers(done), [`A trip! \n\nbook to Rome in run ${asked.id}`]);
      assert.equal(begun, 1);
    });

    test('pictures and files are file parts, thoughts are marked and no part of the answer', async (t) => {
      const agent = agentOf(async function* () {
        yield says(
          { kind: 'thought', text: 'Hm' },
          text('Here: '),
          { kind: 'blob', mediaType: 'image/png', data: 'AAAA', name: 'a.png' },
          { kind: 'file', uri: 'https://files.example/b.pdf', mediaType: 'application/pdf' },
        );
      });
      const client = await (await bridge(t, agent)).client({ version });
      const task = await send(client, 'show');
      assert.deepEqual(
        task.artifacts?.[0]?.parts.map((part) => (part.kind === 'file' ? part.file : part.kind)),
        [
          'text',
          { bytes: 'AAAA', mimeType: 'image/png', name: 'a.png' },
          { uri: 'https://files.example/b.pdf', mimeType: 'application/pdf' },
        ],
      );
      // Only this result repeats the answer, and only in 0.3.
      assert.equal(statusText(task), version === '0.3' ? 'Here: ' : '');
      assert.equal(statusText(await client.get(task.id)), '');
      const thoughts = task.history?.filter(({ role }) => role === 'agent');
      assert.deepEqual(
        thoughts?.map(({ parts }) => parts),
        [[{ kind: 'text', text: 'Hm', metadata: { 'parley.thought': true } }]],
      );
    });
  });
}

describe('what goes in', () => {
  test('files and data of a message reach the agent as its input', async (t) => {
    const agent = agentOf(async function* (ctx) {
      yield JSON.stringify(ctx.input.parts);
    });
    const client = await (await bridge(t, agent)).client();
    const task = await send(client, [
      { kind: 'text', text: 'look' },
      { kind: 'file', file: { bytes: 'AAAA', mimeType: 'image/png', name: 'a.png' } },
      { kind: 'data', data: { n: 1 }, metadata: { 'parley.functionCall': true } },
    ]);
    assert.deepEqual(JSON.parse(statusText(task)), [
      { kind: 'text', text: 'look' },
      { kind: 'blob', mediaType: 'image/png', data: 'AAAA', name: 'a.png' },
      { kind: 'data', data: { n: 1 } },
    ]);
  });

  test('a context is a session: what one task leaves in its state, the next one finds', async (t) => {
    const agent = agentOf(async function* (ctx) {
      const before = ctx.state.get('seen') ?? 'nothing';
      ctx.state.set('seen', contentText(ctx.input));
      yield `before: ${before as string}`;
    });
    const client = await (await bridge(t, agent)).client();
    const first = await send(client, 'one');
    const second = await send(client, 'two', { contextId: first.contextId });
    const elsewhere = await send(client, 'three');
    assert.deepEqual([first, second, elsewhere].flatMap(answers), [
      'before: nothing',
      'before: one',
      'before: nothing',
    ]);
  });

  test('the authenticated user is the session’s user, and a context of the same name is another’s', async (t) => {
    const agent = agentOf(async function* (ctx) {
      const before = ctx.state.get('seen') ?? 'nothing';
      ctx.state.set('seen', contentText(ctx.input));
      yield `${ctx.session.user} in ${ctx.session.id}: ${before as string}`;
    });
    const authenticate = bearerTokens(
      new Map([
        ['ann', 'token-a'],
        ['bob', 'token-b'],
        ['anonymous', 'token-c'],
      ]),
    );
    const { client } = await bridge(t, agent, {}, { authenticate });
    const as = (token: string) => client({ headers: { Authorization: `Bearer ${token}` } });
    const told: string[] = [];
    for (const token of ['token-a', 'token-b', 'token-c']) {
      told.push(...answers(await send(await as(token), 'mine', { contextId: 'x' })));
    }
    assert.deepEqual(told, ['ann in x: nothing', 'bob in x: nothing', '/anonymous in x: nothing']);
  });

  test('the same user in another tenant is another user', async (t) => {
    const agent = agentOf(async function* (ctx) {
      yield ctx.session.user;
    });
    const authenticate: Authenticate = (request) => {
      const [id = '', tenant] = (request.header('x-user') ?? '').split(' ');
      return tenant === undefined ? { id } : { id, tenant };
    };
    const { client } = await bridge(t, agent, {}, { authenticate });
    const users = ['ann', 'ann north', 'ann south', 'north/ann', 'ann a/b'];
    const told: string[] = [];
    for (const user of users) {
      told.push(...answers(await send(await client({ headers: { 'x-user': user } }), 'who')));
    }
    assert.deepEqual(told, ['ann', 'north/ann', 'south/ann', '/north/ann', 'a%2Fb/ann']);
  });

  test('without authentication everybody is anonymous, never the context', async (t) => {
    const agent = agentOf(async function* (ctx) {
      yield ctx.session.user;
    });
    const client = await (await bridge(t, agent)).client();
    assert.deepEqual(answers(await send(client, 'who', { contextId: 'x' })), ['anonymous']);
  });

  test('an agent that continues takes another message on the same task, as another run', async (t) => {
    const runs: string[] = [];
    const agent = agentOf(async function* (ctx) {
      runs.push(ctx.runId);
      yield contentText(ctx.input);
    });
    const client = await (await bridge(t, agent, { continues: true })).client();
    const first = await send(client, 'one');
    const second = await send(client, 'two', { taskId: first.id });
    assert.equal(statusText(second), 'two');
    assert.deepEqual(runs, [first.id, `${first.id}:1`]);
  });
});

describe('how it ends', () => {
  test('escalation with nobody above completes the task', async (t) => {
    const agent = agentOf(async function* () {
      yield { ...says(text('Over to you')), actions: { escalate: true } };
    });
    const task = await send(await (await bridge(t, agent)).client(), 'go');
    assert.equal(task.status.state, 'completed');
    assert.equal(statusText(task), 'Over to you');
  });

  test('escalation with a question waits for its answer', async (t) => {
    const agent = agentOf(async function* (ctx) {
      if (ctx.answer('which')) {
        yield 'thanks';
        return;
      }
      yield says(text('I cannot decide'));
      const question = ctx.question('which', { text: 'Which one?' });
      yield { ...question, actions: { ...question.actions, escalate: true } };
    });
    const client = await (await bridge(t, agent)).client();
    const asked = await send(client, 'go');
    assert.equal(asked.status.state, 'input-required');
    assert.equal(statusText(await send(client, 'this', { taskId: asked.id })), 'thanks');
  });

  test('a question for an authorization is auth-required', async (t) => {
    const agent = agentOf(async function* (ctx) {
      const given = ctx.answer('login');
      if (given) yield `welcome, ${given.value as string}`;
      else yield ctx.question('login', { kind: 'auth', text: 'Please sign in' });
    });
    const client = await (await bridge(t, agent)).client();
    const asked = await send(client, 'go');
    assert.equal(asked.status.state, 'auth-required');
    assert.equal(statusText(await send(client, 'ann', { taskId: asked.id })), 'welcome, ann');
  });

  test('what is still open is asked again, also when the agent itself does not', async (t) => {
    const agent = agentOf(async function* (ctx) {
      const name = ctx.answer('name');
      const login = ctx.answer('login');
      if (name && login) yield `${name.value as string}, ${login.value as string}`;
      if (ctx.resumed) return;
      yield ctx.question('name', { text: 'Who are you?' });
      yield ctx.question('login', { kind: 'auth', text: 'Please sign in' });
    });
    const client = await (await bridge(t, agent)).client();
    const asked = await send(client, 'go');
    assert.equal(asked.status.state, 'input-required');
    const first = data({ questionId: 'helper:name', value: 'ann' });
    const rest = await send(client, [first], { taskId: asked.id });
    assert.equal(rest.status.state, 'auth-required');
    assert.equal(statusText(rest), 'Please sign in');
    const done = await send(client, 'signed', { taskId: asked.id });
    assert.equal(statusText(done), 'ann, signed');
  });

  test('a transfer to an agent that nobody knows fails the task', async (t) => {
    const agent = agentOf(async function* () {
      yield { actions: { transferTo: 'nobody' } };
    });
    const { client, log } = await bridge(t, agent);
    const task = await send(await client(), 'go');
    assert.equal(task.status.state, 'failed');
    assert.match(
      JSON.stringify(log.map(({ fields }) => String(Object.values(fields)[0]))),
      /unknown-agent/,
    );
  });

  test('a transfer stays inside the run: the answer is that of the agent that goes on', async (t) => {
    const call = { name: 'transfer_to_agent', args: { agent_name: 'expert' } };
    const expert = llmAgent({ name: 'expert', model: scriptedModel([[{ text: 'It is 42.' }]]) });
    const root = llmAgent({
      name: 'root',
      model: scriptedModel([[{ call }]]),
      subAgents: [expert],
    });
    const task = await send(await (await bridge(t, root)).client(), 'what is it?');
    assert.equal(statusText(task), 'It is 42.');
    assert.deepEqual(answers(task), ['It is 42.']);
    assert.equal(task.history?.length, 1);
  });

  test('a failure is told without its cause, which is in our log', async (t) => {
    const failing: Record<string, CustomAgentFunction> = {
      thrown: async function* () {
        yield 'begun';
        throw new Error(`no connection to ${SECRET}`);
      },
      event: async function* () {
        yield { error: { code: 'x', message: `no connection to ${SECRET}` } };
      },
    };
    for (const [how, run] of Object.entries(failing)) {
      const { client, log } = await bridge(t, agentOf(run));
      const task = await send(await client(), 'go');
      assert.equal(task.status.state, 'failed', how);
      assert.doesNotMatch(JSON.stringify(task), /hunter2|no connection/, how);
      const errors = log.filter(({ level }) => level === 'error');
      assert.equal(errors.length, 1, how);
      assert.ok('err' in errors[0]!.fields && String(errors[0]!.fields.err).includes(SECRET), how);
    }
  });

  test('an answer that is very long is in its artifact alone', async (t) => {
    const agent = agentOf(async function* () {
      yield 'x'.repeat(300 * 1024);
    });
    const task = await send(await (await bridge(t, agent)).client(), 'go');
    assert.equal(task.status.state, 'completed');
    assert.equal(task.status.message, undefined);
    assert.equal(answers(task)[0]?.length, 300 * 1024);
  });

  test('agents side by side each have their artifact, and all of them are the answer', async (t) => {
    const speaker = (name: string) =>
      agentOf(async function* () {
        for (let word = 0; word < 5; word++) {
          yield `${name}${word} `;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }, name);
    const team = parallelAgent({ name: 'team', subAgents: [speaker('left'), speaker('right')] });
    const task = await send(await (await bridge(t, team)).client(), 'go');
    const whole = ['left0 left1 left2 left3 left4 ', 'right0 right1 right2 right3 right4 '];
    assert.deepEqual(answers(task).toSorted(), whole);
    assert.deepEqual(statusText(task).split('\n\n').toSorted(), whole);
  });

  test('what one of them said before another one asked is not said again with the answer', async (t) => {
    const left = agentOf(async function* () {
      yield 'left is done';
    }, 'left');
    const right = agentOf(async function* (ctx) {
      if (ctx.answer('which')) yield 'right is done';
      else yield ctx.question('which', { text: 'Which one?' });
    }, 'right');
    const team = parallelAgent({ name: 'team', subAgents: [left, right] });
    const client = await (await bridge(t, team)).client();
    const asked = await send(client, 'go');
    const done = await send(client, 'this', { taskId: asked.id });
    assert.equal(statusText(done), 'right is done');
    assert.deepEqual(answers(done), ['left is done', 'right is done']);
  });

  test('of agents one after the other the last has the final word', async (t) => {
    const line = sequentialAgent({
      name: 'line',
      subAgents: ['draft', 'final'].map((name) =>
        agentOf(async function* () {
          yield name;
        }, name),
      ),
    });
    const task = await send(await (await bridge(t, line)).client(), 'go');
    assert.deepEqual(answers(task), ['draft', 'final']);
    assert.equal(statusText(task), 'final');
  });
});

describe('what is left behind', () => {
  test('a saved artifact is an artifact of the task, a file with its name and content', async (t) => {
    const agent = agentOf(async function* (ctx) {
      await ctx.artifacts.save('notes.md', { kind: 'text', text: '# Notes' });
      await ctx.artifacts.save('dot.png', { kind: 'blob', mediaType: 'image/png', data: 'AAAA' });
      yield says(text('saved'));
      await ctx.artifacts.save('notes.md', { kind: 'text', text: '# More' });
      yield { actions: {} };
    });
    const client = await (await bridge(t, agent)).client();
    const task = await send(client, 'go');
    const files = task.artifacts?.filter((each) => !isResponse(each));
    const bytes = Buffer.from('# More').toString('base64');
    assert.deepEqual(
      files?.map(({ name, parts }) => [name, parts]),
      [
        ['notes.md', [{ kind: 'file', file: { bytes, mimeType: 'text/plain', name: 'notes.md' } }]],
        [
          'dot.png',
          [{ kind: 'file', file: { bytes: 'AAAA', mimeType: 'image/png', name: 'dot.png' } }],
        ],
      ],
    );
    assert.deepEqual(answers(task), ['saved']);
  });

  test('the card says who the agent is and what it can do', async (t) => {
    const tools = [toolOf('weather', { run: () => 'sunny' })];
    const agent = llmAgent({ name: 'helper', description: 'Helps', tools });
    const options = { defaultModel: scriptedModel([]), profile: { version: '3.2.1' } };
    const { card } = await (await bridge(t, agent, options)).client();
    assert.deepEqual(
      [card.name, card.description, card.version, card.skills.map(({ id }) => id)],
      ['helper', 'Helps', '3.2.1', ['helper', 'helper.weather']],
    );
  });
});

describe('who leaves', () => {
  test('a client that goes away does not stop the run', async (t) => {
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const agent = agentOf(async function* (ctx) {
      yield 'begun ';
      await left;
      ctx.signal.throwIfAborted();
      yield 'and done';
      finish();
    });
    const client = await (await bridge(t, agent)).client();
    const stream = client.stream('go');
    for await (const { event } of stream) if (event.kind === 'artifact-update') break;
    await stream.close();
    leave();
    await finished;
    const after = client.resubscribe(stream.task!.id, { after: stream.lastSeq });
    for await (const _ of after);
    assert.equal((await client.get(stream.task!.id)).status.state, 'completed');
  });

  test('cancelling a task aborts its agent’s signal', async (t) => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const agent = agentOf(async function* (ctx) {
      yield 'begun';
      ctx.signal.addEventListener('abort', () => resolve());
      await new Promise((_, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
      });
    });
    const client = await (await bridge(t, agent)).client();
    const stream = client.stream('go');
    for await (const { event } of stream) if (event.kind === 'artifact-update') break;
    const task = await client.cancel(stream.task!.id);
    await aborted;
    assert.equal(task.status.state, 'canceled');
  });

  test('what a lost session asked cannot be answered, and that is said', async (t) => {
    const agent = agentOf(async function* (ctx) {
      yield ctx.question('q', { text: 'Well?' });
    });
    const sessions = memorySessions();
    const client = await (await bridge(t, agent, { sessions })).client();
    const asked = await send(client, 'go');
    await sessions.delete({ app: 'helper', user: 'anonymous', id: asked.contextId });
    const task = await send(client, 'yes', { taskId: asked.id });
    assert.equal(task.status.state, 'failed');
    assert.match(statusText(task), /send the request again/);
  });
});
