// The calls of one answer: what runs side by side, what waits, and what is known after a crash.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { functionCalls, functionResponses } from '../content.ts';
import type { Answer, Event, AnswerInbox } from '../event.ts';
import type { Model } from '../model.ts';
import { createRunner, type Runner } from '../run/runner.ts';
import type { SessionStore } from '../session.ts';
import { memorySessions } from '../sessions/memory.ts';
import type { Tool } from '../tool.ts';
import { llmAgent } from './llm.ts';
import { all, at, toolOf } from '../../../test/support/runs.ts';

const runId = 'r';
const go = { ...at, runId, message: 'go' };

/** A runner whose model makes these calls at once, then ends. */
function runnerOf(
  names: readonly string[],
  tools: readonly Tool[],
  sessions: SessionStore = memorySessions(),
): Runner {
  const model: Model = {
    name: 'planned',
    async *generate({ messages }) {
      const isDone = messages.some((content) => functionCalls(content).length > 0);
      if (isDone) yield { kind: 'text', text: 'done' };
      for (const [index, name] of isDone ? [] : names.entries()) {
        yield { kind: 'function-call', id: '', name, args: { index } };
      }
      yield { kind: 'finish', reason: 'stop' };
    },
  };
  const agent = llmAgent({ name: 'a', model, tools });
  return createRunner({ agent, app: 'app', sessions });
}

/** Tools that write down when they begin and end. */
function traced(more: Readonly<Record<string, Partial<Tool>>>) {
  const trace: string[] = [];
  const tools = Object.entries(more).map(([name, each]) =>
    toolOf(
      name,
      async () => {
        trace.push(`+${name}`);
        await new Promise((resolve) => setImmediate(resolve));
        trace.push(`-${name}`);
        return name;
      },
      each,
    ),
  );
  return { trace, tools };
}

const sequential = { sequential: true };

test('a sequential call waits for the calls before it, and the calls behind it wait for it', async () => {
  const { trace, tools } = traced({ read: {}, look: {}, write: sequential, run: sequential });
  const runner = runnerOf(['read', 'look', 'write', 'read', 'look', 'run'], tools);
  await all(runner.run(go));
  assert.equal(
    trace.join(' '),
    '+read +look -read -look +write -write +read +look -read -look +run -run',
  );
});

test('questions are asked at once and in order, and approved calls run in order', async () => {
  const asks = { sequential: true, confirm: () => true };
  const { trace, tools } = traced({ one: asks, two: asks, three: asks });
  const runner = runnerOf(['one', 'two', 'three'], tools);
  const events = await all(runner.run(go));
  const asked = events.flatMap(({ actions }) => actions.questions ?? []);
  assert.deepEqual(
    asked.map(({ tool }) => tool),
    ['one', 'two', 'three'],
  );
  const yes = (index: number): Answer => ({ questionId: asked[index]!.id, confirmed: true });
  const waiting = await all(runner.resume({ ...at, runId, answers: [yes(2)] }));
  assert.deepEqual(trace, [], 'it waits');
  assert.deepEqual(
    waiting.flatMap(({ actions }) => actions.waits ?? []),
    [asked[2]!.id],
  );
  await all(runner.resume({ ...at, runId, answers: [yes(1), yes(0)] }));
  assert.equal(trace.join(' '), '+one -one +two -two +three -three');
});

test('a call that is declined holds up no other', async () => {
  const asks = { sequential: true, confirm: () => true };
  const { trace, tools } = traced({ one: asks, two: asks });
  const runner = runnerOf(['one', 'two'], tools);
  await all(runner.run(go));
  const [one, two] = await runner.pending({ ...at, runId });
  const answers = [
    { questionId: one!.id, confirmed: false },
    { questionId: two!.id, confirmed: true },
  ];
  await all(runner.resume({ ...at, runId, answers }));
  assert.equal(trace.join(' '), '+two -two');
});

test('a call that waited for an earlier one was not run, and the model is told so', async () => {
  const asks = { sequential: true, confirm: () => true };
  const notRun = 'stopped by the user: this call was not run';
  /** Approves these calls one after the other, stops the run when one of them begins, and cancels it. */
  async function outcomes(approved: readonly number[]): Promise<unknown[]> {
    const sessions = memorySessions();
    const stop = new AbortController();
    const { tools } = traced({ one: asks, read: {}, two: asks });
    const one = toolOf('one', () => stop.abort(new Error('stopped by the user')), asks);
    const runner = runnerOf(['one', 'read', 'two'], [one, ...tools.slice(1)], sessions);
    await all(runner.run(go));
    const asked = await runner.pending({ ...at, runId });
    for (const index of approved) {
      const answers = [{ questionId: asked[index]!.id, confirmed: true }];
      await all(runner.resume({ ...at, runId, answers, signal: stop.signal })).catch(() => []);
    }
    await runner.cancel({ ...at, runId });
    const session = await sessions.get({ app: 'app', user: at.user, id: at.session });
    return session!.events.flatMap(({ content }) =>
      functionResponses(content).map(({ response }) => response),
    );
  }
  assert.deepEqual(await outcomes([]), [notRun, notRun, notRun]);
  const stopped = 'stopped by the user: this call did not finish';
  assert.deepEqual(await outcomes([0]), [stopped, notRun, notRun]);
  assert.deepEqual(await outcomes([1, 0]), [stopped, notRun, notRun]);
});

test('a question that depends on an earlier call is asked when that call has ended', async () => {
  const confirm = { sequential: true, confirm: () => true };
  const { trace, tools } = traced({
    one: confirm,
    other: confirm,
    two: { ...confirm, confirmsAfter: (_args, earlier) => earlier.name === 'one' },
  });
  const runner = runnerOf(['one', 'other', 'two'], tools);
  await all(runner.run(go));
  const asked = async () => (await runner.pending({ ...at, runId })).map(({ tool }) => tool);
  assert.deepEqual(await asked(), ['one', 'other']);
  const [first] = await runner.pending({ ...at, runId });
  const answers = [{ questionId: first!.id, confirmed: true }];
  await all(runner.resume({ ...at, runId, answers }));
  assert.deepEqual(await asked(), ['other', 'two']);
  assert.equal(trace.join(' '), '+one -one');
});

const KINDS = ['read', 'askRead', 'write', 'askWrite', 'lateWrite', 'askInside'] as const;
const isSequential = (kind: (typeof KINDS)[number]) => /write/i.test(kind);

/** What happened to the calls, in all processes. The calls are known by their number. */
interface World {
  readonly kinds: readonly (typeof KINDS)[number][];
  readonly begun: Map<number, number>;
  readonly answered: Set<number>;
  /** For each process that died: the calls that had a response. */
  readonly known: Set<number>[];
  readonly problems: string[];
}

/** A process: a runner with a store that it can no longer write to when it is dead. */
function processOf(world: World, sessions: SessionStore, delays: readonly number[]) {
  let dead = false;
  let waits = 0;
  const numbers = new Map<string, number>();
  const note = (events: readonly Event[]): void => {
    for (const { content } of events) {
      for (const part of content?.parts ?? []) {
        if (part.kind === 'function-call') numbers.set(part.id, Number(part.args['index']));
      }
      for (const { id } of functionResponses(content)) world.answered.add(numbers.get(id)!);
    }
  };
  const store: SessionStore = {
    open: (key, state) => sessions.open(key, state),
    async get(key) {
      const session = await sessions.get(key);
      note(session?.events ?? []);
      return session;
    },
    list: (...args) => sessions.list(...args),
    delete: (key) => sessions.delete(key),
    close: () => sessions.close(),
    async append(key, events) {
      if (dead) throw new Error('the process is dead');
      const stored = await sessions.append(key, events);
      note(events);
      return stored;
    },
  };
  const wait = async (): Promise<void> => {
    const turns = (delays[waits++ % delays.length] ?? 0) % 5;
    for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
  };
  const tools = KINDS.map((kind) =>
    toolOf(
      kind,
      async ({ index }, context) => {
        if (dead) return undefined;
        const number = Number(index);
        const earlier = world.kinds.slice(0, number).flatMap((each, other) => {
          const blocks = isSequential(kind) || isSequential(each);
          return blocks && !world.answered.has(other) ? [other] : [];
        });
        if (earlier.length > 0) world.problems.push(`${number} begins before ${earlier.join()}`);
        if (kind === 'askInside' && !context.answer) return context.ask({ text: 'which?' });
        world.begun.set(number, (world.begun.get(number) ?? 0) + 1);
        await wait();
        return 'done';
      },
      {
        sequential: isSequential(kind),
        ...(/^ask.*e$|^askRead|^late/.test(kind) && {
          async confirm() {
            await wait();
            return true;
          },
        }),
        ...(kind === 'lateWrite' && { confirmsAfter: () => true }),
      },
    ),
  );
  const stop = new AbortController();
  return {
    runner: runnerOf(world.kinds, tools, store),
    signal: stop.signal,
    die() {
      dead = true;
      world.known.push(new Set(world.answered));
      stop.abort(new Error('killed'));
    },
  };
}

/** Answers come one by one while the run is active, in an order of their own. */
function inboxOf(choices: readonly number[]): AnswerInbox {
  let asked = 0;
  return {
    take({ id: questionId }) {
      const choice = choices[asked++ % choices.length] ?? 0;
      return choice % 3 === 0 ? undefined : { questionId, confirmed: choice % 3 === 1, value: 'x' };
    },
    listen: () => ({ [Symbol.dispose]() {} }),
  };
}

test('whatever is asked, answered and killed: no sequential call begins before an earlier one has ended, and every call ends once', async () => {
  const byte = fc.nat(255);
  const bytes = fc.array(byte, { minLength: 1, maxLength: 20 });
  const story = fc.record({
    kinds: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 7 }),
    delays: bytes,
    choices: bytes,
    /** After how many events each process is killed. */
    kills: fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(story, async ({ kinds, delays, choices, kills }) => {
      const world: World = {
        kinds,
        begun: new Map(),
        answered: new Set(),
        known: [],
        problems: [],
      };
      const sessions = memorySessions();
      const log: Event[] = [];
      let started = false;
      for (let life = 0; life < 40; life++) {
        const process = processOf(world, sessions, delays);
        const { runner, signal } = process;
        const inbox = inboxOf(choices.slice(life % choices.length));
        let left = kills[life] ?? Infinity;
        const open = started ? await runner.pending({ ...at, runId }) : [];
        // In any order, and not always all of them.
        const chosen = open.filter((_, index) => (choices[index + life] ?? 1) % 4 > 0);
        const answers = (chosen.length > 0 ? chosen : open).toReversed().map(({ id }, index) => {
          const confirmed = (choices[index] ?? 1) % 5 > 0;
          return { questionId: id, confirmed, value: 'x' };
        });
        const events = started
          ? runner.resume({ ...at, runId, answers, inbox, signal })
          : runner.run({ ...go, inbox, signal });
        started = true;
        try {
          for await (const event of events) {
            if (event.partial !== true) log.push(event);
            if (--left === 0) process.die();
          }
        } catch (error) {
          if (left > 0) throw error;
          continue;
        }
        if ((await runner.pending({ ...at, runId })).length === 0) break;
      }
      assert.deepEqual(world.problems, []);
      const stored = (await sessions.get({ app: 'app', user: at.user, id: at.session }))!.events;
      const responses = stored.flatMap(({ content }) => functionResponses(content));
      assert.equal(responses.length, kinds.length, 'every call ends once');
      const calls = stored.flatMap(({ content }) => content?.parts ?? []);
      for (const { id, error } of responses) {
        const call = calls.find((part) => part.kind === 'function-call' && part.id === id);
        assert.ok(call?.kind === 'function-call');
        const number = Number(call.args['index']);
        const times = world.begun.get(number) ?? 0;
        assert.ok(times <= 1, `${number} happens ${times} times`);
        if (error === undefined) assert.equal(times, 1);
        if (error?.type === 'declined') assert.equal(times, 0);
        if (error?.type !== 'outcome_unknown' || times > 0) continue;
        // A call that never began is unknown only if nothing before it was open when the process died.
        const blockers = kinds
          .slice(0, number)
          .flatMap((kind, other) =>
            isSequential(kinds[number]!) || isSequential(kind) ? [other] : [],
          );
        assert.ok(world.known.some((known) => blockers.every((other) => known.has(other))));
      }
    }),
    { numRuns: process.env['PARLEY_TEST_LONG'] === '1' ? 3000 : 150 },
  );
});
