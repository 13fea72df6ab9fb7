// Agents side by side, with calls that need people, in whatever order things happen and wherever the process dies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mortal } from '../../../test/support/runs.ts';
import type { JsonValue } from '../../base/index.ts';
import fc from 'fast-check';
import type { Agent } from '../agent.ts';
import { llmAgent } from '../agents/llm.ts';
import { parallelAgent, sequentialAgent } from '../agents/workflow.ts';
import { functionCalls, functionResponses, contentText } from '../content.ts';
import type { Answer, Event, Question } from '../event.ts';
import type { Model, ModelRequest } from '../model.ts';
import { createRunner } from './runner.ts';
import { memorySessions } from '../sessions/memory.ts';
import type { Tool } from '../tool.ts';

const at = { user: 'ann', session: 's' };
const KINDS = ['plain', 'confirmed', 'asking', 'long'] as const;
type Kind = (typeof KINDS)[number];

/** For each agent: for each answer of its model, the calls in it. */
type Plan = readonly (readonly (readonly Kind[])[])[];

interface World {
  readonly agent: Agent;
  /** How often each call had its effect. */
  readonly effects: Map<string, number>;
  /** How often each answer was taken by the call that had asked. */
  readonly taken: Map<string, number>;
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Turns of the event loop that make one order of things out of many. */
async function wait(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function worldOf(plan: Plan, delays: readonly number[]): World {
  const effects = new Map<string, number>();
  const taken = new Map<string, number>();
  let waits = 0;
  const delay = (): Promise<void> => wait((delays[waits++ % delays.length] ?? 0) % 4);
  const parameters = { type: 'object' };

  const tools: Tool[] = KINDS.map((kind) => ({
    name: kind,
    description: kind,
    parameters,
    ...(kind === 'confirmed' && { confirm: () => true }),
    ...(kind === 'long' && { longRunning: true }),
    async run({ label }, context) {
      assert.ok(typeof label === 'string');
      await delay();
      if (kind === 'asking' && !context.answer) return context.ask({ text: label });
      if (context.answer) count(taken, label);
      count(effects, label);
      await delay();
      return `did ${label}`;
    },
  }));

  const modelOf = (name: string, steps: Plan[number]): Model => ({
    name: 'planned',
    async *generate({ messages }) {
      checkPaired(messages);
      await delay();
      const step = messages.filter((content) => functionCalls(content).length > 0).length;
      for (const [index, kind] of (steps[step] ?? []).entries()) {
        const args = { label: `${name}-${step}-${index}` };
        yield { kind: 'function-call', id: '', name: kind, args };
      }
      if (!steps[step]) yield { kind: 'text', text: `${name} is done` };
      yield { kind: 'finish', reason: 'stop' };
    },
  });

  const team = plan.map((steps, index) =>
    llmAgent({ name: `agent-${index}`, model: modelOf(`agent-${index}`, steps), tools }),
  );
  const last = llmAgent({ name: 'last', model: modelOf('last', []) });
  const agent = sequentialAgent({
    name: 'root',
    subAgents: [parallelAgent({ name: 'team', subAgents: team }), last],
  });
  return { agent, effects, taken };
}

function checkPaired(messages: ModelRequest['messages']): void {
  for (const [index, content] of messages.entries()) {
    const calls = functionCalls(content).map(({ id }) => id);
    if (calls.length === 0) continue;
    assert.deepEqual(
      functionResponses(messages[index + 1]).map(({ id }) => id),
      calls,
    );
  }
}

function answerTo({ id, kind, args }: Question): Answer {
  const label = JSON.stringify(args?.['label'] ?? '');
  if (kind === 'confirmation') return { questionId: id, confirmed: label.length % 2 === 0 };
  return { questionId: id, value: `answer to ${label}` };
}

interface Choices {
  /** After how many events the process dies, each time; undefined: it does not. */
  readonly crashes: readonly (number | undefined)[];
  /** Which of the open questions are answered next. */
  readonly picks: readonly number[];
  readonly delays: readonly number[];
}

/** Runs the plan to its end, with a new runner each time, and returns what the session has. */
async function play(plan: Plan, { crashes, picks, delays }: Choices) {
  const world = worldOf(plan, delays);
  const sessions = memorySessions();
  const runId = 'r';
  let answers: Answer[] = [];
  for (let time = 0; time < 200; time++) {
    // Every other time the process is not killed: it is told to stop, and still stores how far it came.
    const { store, die } = mortal(sessions);
    const runner = createRunner({ agent: world.agent, sessions: store, app: 'app' });
    const stop = new AbortController();
    if (time % 2 === 0) stop.signal.addEventListener('abort', die);
    const events =
      time === 0
        ? runner.run({ ...at, runId, message: 'go', signal: stop.signal })
        : runner.resume({ ...at, runId, answers, signal: stop.signal });
    const crashed = await untilCrash(events, stop, crashes[time]);
    const open = await runner.pending({ ...at, runId });
    if (!crashed && open.length === 0) {
      const session = await sessions.get({ app: 'app', user: 'ann', id: 's' });
      return { ...world, events: session?.events ?? [] };
    }
    const order = open.toSorted((a, b) => (a.id.at(-1)! < b.id.at(-1)! ? -1 : 1));
    const pick = picks[time % picks.length] ?? 0;
    const some = order.filter((_, index) => ((pick >> (index % 8)) & 1) === 1);
    const chosen = some.length > 0 || crashed ? some : order;
    answers = chosen.map(answerTo);
  }
  return assert.fail('it does not come to an end');
}

async function untilCrash(
  events: AsyncIterable<Event>,
  stop: AbortController,
  after: number | undefined,
): Promise<boolean> {
  let seen = 0;
  try {
    for await (const event of events) {
      assert.equal(event.error, undefined);
      if (event.partial !== true && after !== undefined && ++seen > after) stop.abort('crash');
    }
    return false;
  } catch (error) {
    if (error !== 'crash') throw error;
    return true;
  }
}

/** What an agent did, in the order of its calls: whatever order the responses came in. */
function historyOf(events: readonly Event[], name: string): { said: string[]; heard: JsonValue[] } {
  // What was streamed of an answer before the process was stopped does not count: the answer comes again.
  const own = events.filter((event) => event.author === name && !event.metadata?.['interrupted']);
  const responses = new Map<string, JsonValue>();
  for (const { content } of own) {
    for (const { id, response } of functionResponses(content)) {
      assert.ok(!responses.has(id), 'a call has two responses');
      responses.set(id, response);
    }
  }
  const said: string[] = [];
  const heard: JsonValue[] = [];
  for (const { content } of own) {
    for (const call of functionCalls(content)) {
      said.push(`${call.name} ${JSON.stringify(call.args)}`);
      heard.push(responses.get(call.id) ?? 'no response');
    }
    if (contentText(content) !== '') said.push(contentText(content));
  }
  return { said, heard };
}

const kinds = fc.constantFrom(...KINDS);
const plans: fc.Arbitrary<Plan> = fc.array(
  fc.array(fc.array(kinds, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
  { minLength: 1, maxLength: 4 },
);
const picks = fc.array(fc.nat(255), { minLength: 1, maxLength: 20 });
const delays = fc.array(fc.nat(3), { minLength: 1, maxLength: 20 });
const crashes = fc.array(fc.option(fc.nat(12), { nil: undefined }), { maxLength: 12 });

const names = (plan: Plan): string[] => [...plan.map((_, index) => `agent-${index}`), 'last'];
const calm: Choices = { crashes: [], picks: [255], delays: [0] };

test('the history is the same, whatever order tools end and people answer in', async () => {
  await fc.assert(
    fc.asyncProperty(plans, picks, delays, async (plan, picks, delays) => {
      const expected = await play(plan, calm);
      const { events, effects, taken } = await play(plan, { crashes: [], picks, delays });
      for (const name of names(plan)) {
        assert.deepEqual(historyOf(events, name), historyOf(expected.events, name));
      }
      assert.deepEqual(effects, expected.effects);
      assert.deepEqual(taken, expected.taken);
    }),
    { numRuns: 60 },
  );
});

test('wherever the process dies or is stopped, each call is made once at most and each agent comes to its end', async () => {
  await fc.assert(
    fc.asyncProperty(plans, crashes, picks, delays, async (plan, crashes, picks, delays) => {
      const expected = await play(plan, calm);
      const { events, effects, taken } = await play(plan, { crashes, picks, delays });
      for (const times of [...effects.values(), ...taken.values()]) assert.equal(times, 1);
      for (const name of names(plan)) {
        const { said, heard } = historyOf(events, name);
        const calmly = historyOf(expected.events, name);
        assert.deepEqual(said, calmly.said);
        for (const [index, response] of heard.entries()) {
          const stopped =
            typeof response === 'string' &&
            /^(?:outcome unknown|crash: this call (?:did not finish|was not run)$)/.test(response);
          if (!stopped) assert.deepEqual(response, calmly.heard[index]);
        }
      }
      for (const { id, args } of events.flatMap(({ content }) => functionCalls(content))) {
        const response = events
          .flatMap(({ content }) => functionResponses(content))
          .find((each) => each.id === id)?.response;
        if (response === 'crash: this call was not run') {
          assert.equal(effects.get(args['label'] as string), undefined);
        }
      }
      const answered = events.flatMap(({ actions }) => actions.answers ?? []);
      const asked = events.flatMap(({ actions }) => actions.questions ?? []);
      assert.equal(new Set(answered.map(({ questionId }) => questionId)).size, answered.length);
      assert.ok(answered.every(({ questionId }) => asked.some(({ id }) => id === questionId)));
    }),
    { numRuns: 100 },
  );
});
