// What agents, tools, models and callbacks do that nobody should: the run ends in an event or goes on, and what is
// stored stays usable.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from './agent.ts';
import { customAgent } from './agents/custom.ts';
import { llmAgent } from './agents/llm.ts';
import { functionResponses } from './content.ts';
import type { Event } from './event.ts';
import type { Model, ModelChunk } from './model.ts';
import type { RunOutcome } from './plugin.ts';
import { createRunner, type RunnerOptions } from './run/runner.ts';
import { RichResponse, type Tool } from './tool.ts';

async function run(agent: Agent, options: Partial<RunnerOptions> = {}): Promise<Event[]> {
  const runner = createRunner({ agent, ...options });
  const events: Event[] = [];
  for await (const event of runner.run({ user: 'ann', session: 's', message: 'go' })) {
    events.push(event);
  }
  return events;
}

/** Says these chunks first, and `done` from then on. */
function modelOf(...chunks: ModelChunk[]): Model {
  let asked = 0;
  return {
    name: 'test',
    async *generate() {
      if (++asked === 1) yield* chunks;
      else yield { kind: 'text', text: 'done' };
      yield { kind: 'finish', reason: 'stop' };
    },
  };
}

function callOf(name: string, id: string, args = {}): ModelChunk {
  return { kind: 'function-call', id, name, args };
}

function toolOf(name: string, run: Tool['run']): Tool {
  return { name, description: name, parameters: { type: 'object' }, run };
}

/** A value that its type does not tell of: code without types hands in such things. */
function untyped(value: unknown): never {
  return value as never;
}

const ring: Record<string, unknown> = {};
ring['ring'] = ring;

const THROWN: Record<string, () => unknown> = {
  'an object without a prototype': () => Object.create(null),
  'an error whose message is no text': () => Object.assign(new Error('x'), { message: 1n }),
  'an error whose message cannot be read': () =>
    Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('no');
      },
    }),
  'an error as long as a book': () => new Error('x'.repeat(70 * 2 ** 20)),
};

for (const [what, make] of Object.entries(THROWN)) {
  test(`a tool that throws ${what}: the model is told, and goes on`, async () => {
    const bad = toolOf('bad', () => {
      throw make();
    });
    const events = await run(
      llmAgent({ name: 'a', model: modelOf(callOf('bad', 'c')), tools: [bad] }),
    );
    const [response] = events.flatMap(({ content }) => functionResponses(content));
    assert.equal(response?.isError, true);
    assert.ok(typeof response.response === 'string' && response.response.length < 200_000);
    assert.deepEqual(events.at(-1)?.content?.parts, [{ kind: 'text', text: 'done' }]);
  });

  test(`an agent that throws ${what} ends the run with an error event`, async () => {
    const events = await run(
      customAgent({ name: 'a' }, async function* () {
        yield 'so far ';
        throw make();
      }),
    );
    assert.equal(events.at(-1)?.error?.code, 'agent-failed');
  });
}

const UNSTORABLE: Record<string, Tool['run']> = {
  'sets what is no JSON': (_args, { state }) => state.set('key', untyped(ring)),
  'asks with what is no JSON': (_args, ctx) => ctx.ask({ text: 'Which?', detail: untyped(ring) }),
  'shows what is no JSON': () => new RichResponse('fine', { display: untyped({ n: 1n }) }),
};

for (const [what, use] of Object.entries(UNSTORABLE)) {
  test(`a tool that ${what}: the model is told, and goes on`, async () => {
    const model = modelOf(callOf('bad', 'c'));
    const events = await run(llmAgent({ name: 'a', model, tools: [toolOf('bad', use)] }));
    const [response] = events.flatMap(({ content }) => functionResponses(content));
    assert.match(JSON.stringify(response?.response), /is not JSON/);
    assert.deepEqual(events.at(-1)?.content?.parts, [{ kind: 'text', text: 'done' }]);
  });
}

test('a callback that puts what is no JSON in place of a result: it is said in words', async () => {
  const events = await run(
    llmAgent({
      name: 'a',
      model: modelOf(callOf('good', 'c')),
      tools: [toolOf('good', () => 'fine')],
      callbacks: { afterTool: () => ({ response: untyped(ring) }) },
    }),
  );
  const [response] = events.flatMap(({ content }) => functionResponses(content));
  assert.deepEqual(response?.response, { ring: '[circular]' });
});

test('an agent that yields what is no JSON ends the run with an error event', async () => {
  const events = await run(
    customAgent({ name: 'a' }, async function* () {
      yield { actions: { stateDelta: { key: untyped(1n) } } };
    }),
  );
  assert.equal(events.at(-1)?.error?.code, 'invalid-event');
});

const RUBBISH: Record<string, ModelChunk> = {
  'arguments in a ring': callOf('good', 'c', ring),
  'arguments that are a list': callOf('good', 'c', []),
  'no arguments': callOf('good', 'c', untyped(null)),
  'arguments as long as a library': callOf('good', 'c', { text: 'x'.repeat(40 * 2 ** 20) }),
};

for (const [what, chunk] of Object.entries(RUBBISH)) {
  test(`a model that calls with ${what} ends the run with an error event`, async () => {
    const tools = [toolOf('good', () => 'fine')];
    const events = await run(llmAgent({ name: 'a', model: modelOf(chunk), tools }));
    assert.equal(events.at(-1)?.error?.code, 'model-failed');
  });
}

test('an agent that talks without end and without a pause is held to the time limit', async () => {
  const endless = customAgent({ name: 'a' }, async function* () {
    for (;;) yield 'x';
  });
  const runner = createRunner({ agent: endless, limits: { timeMs: 50 } });
  let last: Event | undefined;
  for await (const event of runner.run({ user: 'ann', session: 's', message: 'go' })) last = event;
  assert.equal(last?.error?.code, 'time-limit');
});

test('a call that always has something to show does not keep the outcome of another waiting', async () => {
  const quickIsDone = new AbortController();
  const busy = toolOf('busy', async (_args, ctx) => {
    for (let n = 0; !quickIsDone.signal.aborted; n++) {
      ctx.progress(n);
      await Promise.resolve();
    }
  });
  const model = modelOf(callOf('busy', 'c1'), callOf('quick', 'c2'));
  const agent = llmAgent({ name: 'a', model, tools: [busy, toolOf('quick', () => 'fine')] });
  const runner = createRunner({ agent, limits: { timeMs: 5000 } });
  let last: Event | undefined;
  for await (const event of runner.run({ user: 'ann', session: 's', message: 'go' })) {
    if (functionResponses(event.content).some(({ name }) => name === 'quick')) quickIsDone.abort();
    last = event;
  }
  assert.equal(last?.error, undefined);
});

test('what a call shows after its end is not shown', async () => {
  let late: ((value: number) => void) | undefined;
  const leaky = toolOf('leaky', (_args, ctx) => {
    late = (value) => ctx.progress(value);
    return 'fine';
  });
  const slow = toolOf('slow', async () => {
    await new Promise((resolve) => setImmediate(resolve));
    late?.(1);
    await new Promise((resolve) => setImmediate(resolve));
  });
  const model = modelOf(callOf('leaky', 'c1'), callOf('slow', 'c2'));
  const events = await run(llmAgent({ name: 'a', model, tools: [leaky, slow] }));
  assert.deepEqual(
    events.filter(({ actions }) => actions.progress),
    [],
  );
});

test('who leaves at the error event leaves a run that has failed, not one that was aborted', async () => {
  const outcomes: RunOutcome[] = [];
  const agent = customAgent({ name: 'a' }, async function* () {
    yield { error: { code: 'broken', message: 'broken' } };
  });
  const plugins = [{ name: 'p', afterRun: (outcome: RunOutcome) => void outcomes.push(outcome) }];
  const runner = createRunner({ agent, plugins });
  for await (const event of runner.run({ user: 'ann', session: 's', message: 'go' })) {
    if (event.error) break;
  }
  assert.deepEqual(outcomes, ['failed']);
});
