import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { textOf, type Message, type Task, type TaskEvent } from '../../protocol/index.ts';
import { type AgentFunction, type AgentOptions, createAgent } from './agent.ts';
import type { A2AAgent } from './executor.ts';
import { createHandler, type HandlerOptions, type RequestHandler } from '../handler.ts';
import { memoryStore } from '../store/memory-store.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const profile = { name: 'Agent', description: 'For tests' };

function handlerOf(
  run: AgentFunction,
  options: HandlerOptions = {},
  more: Partial<AgentOptions> = {},
): RequestHandler {
  return createHandler(createAgent({ ...profile, ...more }, run), { logger: silent, ...options });
}

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

async function send(handler: RequestHandler, text: string, extra: Partial<Message> = {}) {
  return (await handler.sendMessage({ message: says(text, extra) })) as Task;
}

function textIn(task: Task): string {
  let text = '';
  for (const { parts } of task.artifacts ?? []) {
    for (const part of parts) if (part.kind === 'text') text += part.text;
  }
  return text;
}

async function logOf(handler: RequestHandler, id: string): Promise<TaskEvent[]> {
  return (await handler.readLog({ id })).entries.map(({ event }) => event);
}

const states = (events: readonly TaskEvent[]) =>
  events.map((event) => (event.kind === 'artifact-update' ? 'artifact' : event.status.state));

test('strings and parts are chunks of one artifact, and the last status does not repeat them', async () => {
  const handler = handlerOf(async function* () {
    yield 'one ';
    yield { kind: 'data', data: { n: 2 } };
    yield 'three';
  });
  const task = await send(handler, 'go');
  assert.equal(task.artifacts?.length, 1);
  assert.deepEqual(task.artifacts?.[0]?.parts, [
    { kind: 'text', text: 'one ' },
    { kind: 'data', data: { n: 2 } },
    { kind: 'text', text: 'three' },
  ]);
  assert.equal(task.status.message, undefined);
  await handler.close();
});

test('an agent that yields nothing completes without a word', async () => {
  const task = await send(
    handlerOf(async function* () {}),
    'go',
  );
  assert.equal(task.status.state, 'completed');
  assert.equal(task.status.message, undefined);
  assert.equal(task.artifacts, undefined);
});

test('events go out as they are, and a terminal one ends it', async () => {
  const handler = handlerOf(async function* () {
    yield { kind: 'status-update', state: 'working', message: 'thinking', metadata: { step: 1 } };
    yield {
      kind: 'artifact-update',
      artifact: { artifactId: 'x', parts: [{ kind: 'text', text: 'y' }] },
    };
    yield { kind: 'status-update', state: 'rejected', message: 'no' };
    yield 'never seen';
  });
  const task = await send(handler, 'go');
  assert.equal(task.status.state, 'rejected');
  assert.deepEqual(states(await logOf(handler, task.id)), [
    'submitted',
    'working',
    'working',
    'artifact',
    'rejected',
  ]);
  await handler.close();
});

test('a question waits for its answer, in the same run of the generator', async () => {
  let runs = 0;
  const handler = handlerOf(async function* (ctx) {
    runs++;
    const city = await ctx.ask('Which city?');
    const { text } = await ctx.ask(`When in ${city.text}?`);
    assert.equal(city.message.role, 'user');
    yield `${ctx.text}: ${city.text}, ${text}`;
  });
  const asked = await send(handler, 'book');
  assert.equal(asked.status.state, 'input-required');
  assert.deepEqual(asked.status.message?.parts, [{ kind: 'text', text: 'Which city?' }]);
  await send(handler, 'Rome', { taskId: asked.id });
  const task = await send(handler, 'May', { taskId: asked.id });
  assert.equal(textIn(task), 'book: Rome, May');
  assert.equal(runs, 1);
  assert.equal(task.history?.length, 5);
  await handler.close();
});

/** Says something before, between and after two questions; counts how often it got how far. */
function talkative(reached: string[]): AgentFunction {
  return async function* (ctx) {
    reached.push('start');
    yield 'a ';
    const one = await ctx.ask('first?');
    yield `b${one.text} `;
    const two = await ctx.ask('second?');
    reached.push('end');
    yield `c${two.text}`;
  };
}

test('after a restart the generator is run again, with its recorded answers and no output twice', async () => {
  const store = memoryStore();
  const reached: string[] = [];
  const before = handlerOf(talkative(reached), { store });
  const { id: taskId } = await send(before, 'go');
  await send(before, '1', { taskId });

  const after = handlerOf(talkative(reached), { store });
  await after.recover();
  const waiting = await after.getTask({ id: taskId });
  assert.equal(waiting.status.state, 'input-required');
  assert.equal(textIn(waiting), 'a b1 ');
  const task = await send(after, '2', { taskId });
  assert.equal(task.status.state, 'completed');
  assert.equal(textIn(task), 'a b1 c2');
  assert.equal(textIn(task), 'a b1 c2');
  assert.equal(task.artifacts?.length, 1);
  assert.deepEqual(reached, ['start', 'start', 'end']);
  const log = await logOf(after, taskId);
  assert.equal(log.filter(({ kind }) => kind === 'artifact-update').length, 3);
  await after.close();
});

test('a restart before each answer gives the same task as none', async () => {
  const store = memoryStore();
  let handler = handlerOf(talkative([]), { store });
  const { id: taskId } = await send(handler, 'go');
  for (const answer of ['1', '2']) {
    handler = handlerOf(talkative([]), { store });
    await send(handler, answer, { taskId });
  }
  const task = await handler.getTask({ id: taskId });
  assert.equal(textIn(task), 'a b1 c2');
  assert.equal(task.status.state, 'completed');
});

test('an agent that resumes after a crash gives the same answer as without one', async (t) => {
  const crash = Promise.withResolvers<void>();
  const fine = Promise.withResolvers<void>();
  const answering = (reached: () => void, gate: Promise<void>): AgentFunction =>
    async function* (ctx) {
      yield 'A ';
      yield `${(await ctx.ask('first?')).text} `;
      yield 'B ';
      reached();
      await gate;
      yield 'C';
    };
  const store = memoryStore();
  const resumes = { resumes: true };
  const before = handlerOf(answering(crash.resolve, new Promise(() => {})), { store }, resumes);
  const { id: taskId } = await send(before, 'go');
  const configuration = { blocking: false };
  await before.sendMessage({ message: says('1', { taskId }), configuration });
  await crash.promise;
  await new Promise((resolve) => setImmediate(resolve));

  const after = handlerOf(
    answering(() => {}, fine.promise),
    { store },
    resumes,
  );
  t.after(() => after.close());
  await after.recover();
  const stream = await after.subscribe({ id: taskId });
  fine.resolve();
  const streamed: string[] = [];
  for await (const { event } of stream) {
    if (event.kind === 'artifact-update') streamed.push(textOf(event.artifact.parts));
  }
  const task = await after.getTask({ id: taskId });
  assert.deepEqual(
    task.artifacts?.map(({ parts }) => parts.map((part) => part.kind === 'text' && part.text)),
    [['A 1 B C']],
  );
  assert.deepEqual(streamed, ['C'], 'only the rest is sent');
  assert.equal(task.status.message, undefined);
});

test('a resumed agent that says less before it asks corrects the text, also for later runs', async (t) => {
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  const resumes = { resumes: true };
  const before = handlerOf(
    async function* () {
      yield 'Hello';
      begun.resolve();
      await new Promise(() => {});
    },
    { store },
    resumes,
  );
  const message = says('go');
  const { id: taskId } = (await before.sendMessage({
    message,
    configuration: { blocking: false },
  })) as Task;
  await begun.promise;
  await new Promise((resolve) => setImmediate(resolve));
  const shorter: AgentFunction = async function* (ctx) {
    yield 'Hel';
    yield (await ctx.ask('Which?')).text;
  };
  const second = handlerOf(shorter, { store }, resumes);
  await second.recover();
  for await (const { event } of await second.subscribe({ id: taskId })) {
    if (event.kind === 'status-update' && event.status.state === 'input-required') break;
  }
  const third = handlerOf(shorter, { store }, resumes);
  t.after(() => third.close());
  await third.recover();
  assert.equal(textIn(await third.getTask({ id: taskId })), 'Hel');
  assert.equal(textIn(await send(third, '!', { taskId })), 'Hel!');
});

test('auth: the question is for an authorization', async () => {
  const handler = handlerOf(async function* (ctx) {
    yield (await ctx.ask('Sign in', { auth: true })).text;
  });
  const task = await send(handler, 'go');
  assert.equal(task.status.state, 'auth-required');
  assert.equal(textIn(await send(handler, 'done', { taskId: task.id })), 'done');
});

test('canceling a task that waits fails its question and runs the clean-up', async () => {
  const cleaned = Promise.withResolvers<void>();
  let asked: unknown;
  const handler = handlerOf(async function* (ctx) {
    try {
      yield (await ctx.ask('still there?').catch((error: unknown) => (asked = error))) as string;
    } finally {
      assert.equal(ctx.signal.aborted, true);
      cleaned.resolve();
    }
  });
  const { id } = await send(handler, 'go');
  const task = await handler.cancelTask({ id });
  assert.equal(task.status.state, 'canceled');
  await cleaned.promise;
  assert.ok(asked instanceof DOMException);
});

test('a cancellation after two questions aborts the signal of the function once', async () => {
  const aborted: string[] = [];
  const working = Promise.withResolvers<void>();
  const handler = handlerOf(async function* (ctx) {
    const { signal } = ctx;
    signal.addEventListener('abort', () => aborted.push(String(signal.reason)));
    yield (await ctx.ask('first?')).text;
    yield (await ctx.ask('second?')).text;
    assert.equal(ctx.signal, signal);
    working.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const { id: taskId } = await send(handler, 'go');
  await send(handler, 'one', { taskId });
  const message = says('two', { taskId });
  await handler.sendMessage({ message, configuration: { blocking: false } });
  await working.promise;
  assert.deepEqual(aborted, []);
  assert.equal((await handler.cancelTask({ id: taskId })).status.state, 'canceled');
  assert.deepEqual(aborted, ['AbortError: stopped by the user']);
});

test('a question that the agent does not wait for ends nothing but itself', async () => {
  const handler = handlerOf(async function* (ctx) {
    void ctx.ask('anybody?');
    yield 'x';
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  });
  const { id } = await send(handler, 'go');
  assert.equal((await handler.cancelTask({ id })).status.state, 'canceled');
  await new Promise((resolve) => setImmediate(resolve));
});

test('two questions at once: the second is refused', async () => {
  const handler = handlerOf(async function* (ctx) {
    const [one, two] = await Promise.allSettled([ctx.ask('one?'), ctx.ask('two?')]);
    yield `${one.status} ${two.status}`;
  });
  const { id: taskId } = await send(handler, 'go');
  assert.equal(textIn(await send(handler, 'x', { taskId })), 'fulfilled rejected');
});

test('a generator that stops because it was told to is canceled, not completed', async () => {
  const begun = Promise.withResolvers<void>();
  const handler = handlerOf(async function* (ctx) {
    while (!ctx.signal.aborted) {
      yield 'tick ';
      begun.resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  const configuration = { blocking: false };
  const sent = await handler.sendMessage({ message: says('go'), configuration });
  await begun.promise;
  const task = await handler.cancelTask({ id: (sent as Task).id });
  assert.equal(task.status.state, 'canceled');
  await handler.close();
});

test('an agent that yields input-required itself is told to ask', async () => {
  const handler = handlerOf(async function* () {
    yield { kind: 'status-update', state: 'input-required' };
  });
  assert.equal((await send(handler, 'go')).status.state, 'failed');
});

test('reply answers without a task, or leaves it to the generator', async () => {
  const handler = handlerOf(
    async function* (ctx) {
      yield `task for ${ctx.text}`;
    },
    {},
    { reply: ({ text }) => (text === 'hi' ? 'hello' : undefined) },
  );
  const answer = (await handler.sendMessage({ message: says('hi') })) as Message;
  assert.equal(answer.kind, 'message');
  assert.deepEqual(answer.parts, [{ kind: 'text', text: 'hello' }]);
  const stream = await handler.streamMessage({ message: says('hi') });
  const items = [];
  for await (const item of stream) items.push(item.event.kind);
  assert.deepEqual(items, ['message']);
  assert.equal(textIn(await send(handler, 'work')), 'task for work');
});

test('an agent that continues reopens a completed task as a new turn, with one end each', async () => {
  const seen: string[][] = [];
  const handler = handlerOf(
    async function* (ctx) {
      seen.push(ctx.turn.map(({ parts }) => (parts[0]?.kind === 'text' ? parts[0].text : '')));
      if (ctx.text === 'ask') yield (await ctx.ask('what?')).text;
      else yield `did ${ctx.text} `;
    },
    {},
    { continues: true },
  );
  const { id: taskId } = await send(handler, 'one');
  await send(handler, 'two', { taskId });
  const asked = await send(handler, 'ask', { taskId });
  assert.equal(asked.status.state, 'input-required');
  const task = await send(handler, 'three', { taskId });
  assert.equal(textIn(task), 'did one did two three');
  assert.equal(task.artifacts?.length, 3);
  const log = states(await logOf(handler, taskId));
  assert.equal(log.filter((state) => state === 'completed').length, 3);
  assert.deepEqual(seen, [['one'], ['two'], ['ask']]);
  await handler.close();
});

test('only completed tasks are continued, and only where the agent says so', async () => {
  const handler = handlerOf(
    async function* (ctx) {
      if (ctx.text === 'fail') throw new Error('no');
      yield 'x';
    },
    {},
    { continues: ({ extensions }) => extensions.includes('urn:go-on') },
  );
  const { id: failed } = await send(handler, 'fail');
  const { id: done } = await send(handler, 'fine');
  const call = { extensions: ['urn:go-on'] };
  const refused = { kind: 'unsupportedOperation' };
  await assert.rejects(send(handler, 'more', { taskId: done }), refused);
  const more = says('more', { taskId: failed });
  await assert.rejects(handler.sendMessage({ message: more }, call), refused);
  const again = await handler.sendMessage({ message: says('more', { taskId: done }) }, call);
  assert.equal((again as Task).status.state, 'completed');
});

test('a returned string is the last chunk of the answer', async () => {
  const handler = handlerOf(async function* (ctx) {
    yield `${ctx.text} and `;
    return 'done';
  });
  const task = await send(handler, 'go');
  assert.equal(textIn(task), 'go and done');
  const chunks = (await logOf(handler, task.id)).flatMap((event) =>
    event.kind === 'artifact-update' ? [event.lastChunk] : [],
  );
  assert.deepEqual(chunks, [undefined, true]);
  await handler.close();
});

test('a returned string after a question is sent once', async () => {
  const store = memoryStore();
  const run: AgentFunction = async function* (ctx) {
    yield 'a ';
    const { text } = await ctx.ask('?');
    return text;
  };
  const first = handlerOf(run, { store });
  const asked = await send(first, 'go');
  // Another handler has no generator in memory, so it runs the function again.
  const second = handlerOf(run, { store });
  assert.equal(textIn(await send(second, 'b', { taskId: asked.id })), 'a b');
  await second.close();
});

// What a caller in JavaScript, or with a cast, could hand over.
const unchecked = createAgent as (...args: unknown[]) => unknown;

for (const [what, args, says] of [
  ['no name', [{ description: '' }, async function* () {}], /needs a name, got undefined/],
  [
    'an empty name',
    [{ name: ' ', description: '' }, async function* () {}],
    /needs a name, got ' '/,
  ],
  ['no description', [{ name: 'A' }, async function* () {}], /needs a description, got undefined/],
  ['no function', [profile], /needs an async generator function.*; got undefined/],
  ['an async function', [profile, async () => 'x'], /async generator.*; got \[AsyncFunction/],
  ['a sync generator', [profile, function* () {}], /async generator.*; got \[GeneratorFunction/],
] as const) {
  test(`createAgent refuses ${what}`, () => {
    assert.throws(() => unchecked(...args), { name: 'TypeError', message: says });
  });
}

/** The error that fails the task, as the log has it. */
async function failureOf(run: unknown): Promise<string> {
  const errors: unknown[] = [];
  const logger = { ...silent, error: (...args: unknown[]) => void errors.push(...args) };
  const handler = createHandler(unchecked(profile, run) as A2AAgent, { logger });
  assert.equal((await send(handler, 'go')).status.state, 'failed');
  await handler.close();
  return inspect(errors);
}

for (const [what, value, says] of [
  ['a number', 7, /yielded 7; it may yield a string, a part/],
  ['undefined', undefined, /yielded undefined; it may yield/],
  [
    'a message',
    { kind: 'message', parts: [] },
    /yielded \{ kind: 'message', parts: \[\] \}; it may/,
  ],
  ['a text part without text', { kind: 'text' }, /yielded \{ kind: 'text' \}; it may yield/],
] as const) {
  test(`an agent function that yields ${what} fails with an explanation`, async () => {
    assert.match(
      await failureOf(async function* () {
        yield value;
      }),
      says,
    );
  });
}

test('a function that does not return an async iterable fails with an explanation', async () => {
  assert.match(await failureOf(() => 'text'), /async generator function.*; it returned 'text'/);
});
