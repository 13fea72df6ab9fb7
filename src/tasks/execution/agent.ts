/**
 * Writes an agent as an async generator:
 *
 *   const echo = createAgent({ name: 'Echo', description: 'Repeats your words' }, async function* (ctx) {
 *     for (const word of ctx.text.split(' ')) yield `${word} `;
 *   });
 *
 * Yielded strings and parts are chunks of one artifact, yielded events are sent unchanged. Returning completes the
 * task, with the whole text as its status message. A returned string is the last chunk of text. Throwing fails the task.
 *
 * `await ctx.ask('Which city?')` puts the task into input-required and resolves with the answer. Meanwhile the
 * generator stays in memory. If it is no longer there when the answer comes (the process has restarted, or too many
 * others are waiting), the generator runs again from its start: earlier questions get their recorded answers at once,
 * and what it yielded before is not sent again. So the code before an `ask` may run twice. Effects that must happen
 * once belong after the last question, or must be idempotent.
 *
 * An agent that `resumes` after a crash runs again in the same way. How much of its answer was sent before the crash
 * is unknown, so the answer starts over: its first chunk replaces the text that was there.
 */
import { randomUUIDv7 } from 'node:crypto';
import { inspect } from 'node:util';
import type { MaybePromise } from '../../base/index.ts';
import { isInterrupted, textOf, type Message, type Part, type Task } from '../../protocol/index.ts';
import { isPart } from './complete-event.ts';
import type {
  A2AAgent,
  AgentProfile,
  ExecutionContext,
  ExecutionRules,
  ExecutorEvent,
  Reception,
  RequestContext,
} from './executor.ts';

/**
 * The answer to a question of `ctx.ask`.
 *
 *   const { text } = await ctx.ask('Which city?');
 */
export interface GivenAnswer {
  readonly text: string;
  readonly message: Message;
}

/**
 * What an agent function gets: the message, its task, and a way to ask.
 *
 *   async function* (ctx) { yield `You said: ${ctx.text}`; }
 */
export interface AgentContext extends Omit<ExecutionContext, 'signal'> {
  /** The text of the message. */
  readonly text: string;
  readonly signal: AbortSignal;
  /** Asks the client a question and waits for the answer. With `auth` the task waits in auth-required. */
  ask(question: string, options?: { readonly auth?: boolean }): Promise<GivenAnswer>;
}

/** What an agent function may yield. A string or a part is a chunk of the answer; an event is sent unchanged. */
export type Yielded = string | Part | ExecutorEvent;

/**
 * The work of an agent. A returned string is the last chunk of the answer.
 *
 *   const run: AgentFunction = async function* (ctx) { yield ctx.text.toUpperCase(); };
 */
export type AgentFunction = (context: AgentContext) => AsyncIterable<Yielded, string | void>;

/** The agent's profile, from which the server makes the agent card, and how its tasks behave. */
export interface AgentOptions extends AgentProfile, Pick<ExecutionRules, 'resumes'> {
  /** Whether a message to a completed task starts a new turn of it. A function decides for each request. */
  readonly continues?: boolean | ((context: RequestContext) => boolean);
  /** Answers without a task, with text or a message. If it returns undefined, a task is made and the generator runs. */
  readonly reply?: (
    context: RequestContext & { readonly text: string },
  ) => MaybePromise<string | Message | undefined>;
}

/** How many generators may wait for an answer in memory. Beyond that the oldest is dropped, and runs again when needed. */
const MAX_WAITING = 1000;
/** A longer answer is only in the artifact, and not repeated in the status message. */
const MAX_FINAL_TEXT = 256 * 1024;

/**
 * Makes an agent for `serve` of an async generator function.
 *
 *   const echo = createAgent({ name: 'Echo', description: 'Repeats your words' }, async function* (ctx) { yield ctx.text; });
 *   await serve(echo).listen(4000);
 */
export function createAgent(options: AgentOptions, run: AgentFunction): A2AAgent {
  checkArguments(options, run);
  const { reply, continues, resumes, ...profile } = options;
  const waiting = new Map<string, GeneratorRun>();

  function park(taskId: string, generator: GeneratorRun): void {
    waiting.set(taskId, generator);
    if (waiting.size <= MAX_WAITING) return;
    const [oldest, evicted] = waiting.entries().next().value!;
    waiting.delete(oldest);
    evicted.drop();
  }

  function execute(context: ExecutionContext): AsyncIterable<ExecutorEvent> {
    const { id } = context.task;
    const known = waiting.get(id);
    waiting.delete(id);
    if (known) known.answer(context.message);
    const current = known ?? new GeneratorRun(run, context);
    return current.events(context, () => park(id, current));
  }

  function receive(context: RequestContext, task?: Task): MaybePromise<Reception> {
    if (!task) return reply ? answered(reply, context) : {};
    return { continues: typeof continues === 'function' ? continues(context) : continues === true };
  }

  async function answered(
    reply: NonNullable<AgentOptions['reply']>,
    context: RequestContext,
  ): Promise<Reception> {
    const answer = await reply({ ...context, text: textOf(context.message.parts) });
    if (typeof answer !== 'string') return { reply: answer };
    const parts: Part[] = [{ kind: 'text', text: answer }];
    return { reply: { kind: 'message', messageId: randomUUIDv7(), role: 'agent', parts } };
  }

  return {
    profile,
    execute,
    rules: { resumes },
    ...((reply || continues !== undefined) && { receive }),
    cancel(taskId) {
      waiting.get(taskId)?.drop();
      waiting.delete(taskId);
    },
  };
}

type Step =
  | { readonly kind: 'next'; readonly result: IteratorResult<Yielded, string | void> }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'ask'; readonly question: string; readonly auth: boolean };

/** One run of the generator, with all its questions. */
class GeneratorRun {
  readonly #iterator: AsyncIterator<Yielded, string | void>;
  readonly #abort = new AbortController();
  /** Answers that are already in the log, for a generator that runs again. */
  readonly #recorded: Message[];
  #replaying: boolean;
  readonly #resumed: boolean;
  /** Resolves the step that `events` waits for. */
  #settle: ((step: Step) => void) | undefined;
  /** The iterator's `next` was called and has not settled. */
  #outstanding = false;
  #queued: Step[] = [];
  #resumeAsk:
    | { resolve: (answer: GivenAnswer) => void; reject: (error: unknown) => void }
    | undefined;
  #text = '';
  readonly #artifactId: string;
  #begun = false;

  constructor(run: AgentFunction, context: ExecutionContext) {
    const message = context.turn[0] ?? context.message;
    this.#recorded = context.turn.slice(1);
    this.#replaying = this.#recorded.length > 0;
    this.#resumed = context.resumed;
    // The same in every run of this turn, so that a generator that runs again continues its artifact.
    this.#artifactId = `response-${message.messageId}`;
    const iterable: unknown = run({
      ...context,
      message,
      text: textOf(message.parts),
      signal: this.#abort.signal,
      ask: (question, options) => this.#ask(question, options?.auth === true),
    });
    if (!isAsyncIterable(iterable))
      throw new TypeError(`${WRONG_FUNCTION}; it returned ${shown(iterable)}`);
    this.#iterator = iterable[Symbol.asyncIterator]();
  }

  /** Resolves the question that the generator waits for. */
  answer(message: Message): void {
    this.#resumeAsk?.resolve({ text: textOf(message.parts), message });
    this.#resumeAsk = undefined;
  }

  /** Ends the generator: its question is rejected, and its `finally` blocks run. */
  drop(): void {
    this.#abort.abort();
    this.#resumeAsk?.reject(this.#abort.signal.reason);
    this.#resumeAsk = undefined;
    void this.#iterator.return?.().catch(() => {});
  }

  /** Yields the generator's events until it asks or ends. `park` is called before a question is sent. */
  async *events(context: ExecutionContext, park: () => void): AsyncGenerator<ExecutorEvent> {
    const { signal } = context;
    const passOn = () => {
      this.#abort.abort(signal.reason);
      this.#resumeAsk?.reject(signal.reason);
    };
    signal.addEventListener('abort', passOn, { once: true });
    let asked = false;
    try {
      if (context.task.status.state !== 'working')
        yield { kind: 'status-update', state: 'working' };
      for (;;) {
        const step = await this.#step();
        if (step.kind === 'error') throw step.error;
        if (step.kind === 'ask') {
          asked = true;
          park();
          const state = step.auth ? 'auth-required' : 'input-required';
          yield { kind: 'status-update', state, message: step.question };
          return;
        }
        if (step.result.done) {
          const { value: last } = step.result;
          if (typeof last === 'string' && last !== '') yield this.#event(last);
          // An aborted generator returns early. The runtime then decides on the task's state.
          if (!signal.aborted) yield this.#completed();
          return;
        }
        const replaying = this.#replaying;
        const { value } = step.result;
        const event = this.#event(value);
        // After a crash the first chunk replaces the artifact, so all chunks must be sent again.
        if (!replaying || (this.#resumed && !isEvent(value))) yield event;
      }
    } finally {
      signal.removeEventListener('abort', passOn);
      if (!asked) void this.#iterator.return?.().catch(() => {});
    }
  }

  #ask(question: string, auth: boolean): Promise<GivenAnswer> {
    const recorded = this.#recorded.shift();
    if (recorded) {
      this.#replaying = this.#recorded.length > 0;
      return Promise.resolve({ text: textOf(recorded.parts), message: recorded });
    }
    if (this.#abort.signal.aborted) return Promise.reject(this.#abort.signal.reason as Error);
    if (this.#resumeAsk)
      return Promise.reject(
        new Error('ctx.ask() was called while an earlier question is still open'),
      );
    const answer = new Promise<GivenAnswer>((resolve, reject) => {
      this.#resumeAsk = { resolve, reject };
      this.#arrive({ kind: 'ask', question, auth });
    });
    // If the agent does not await its question, a rejection must not end the process.
    answer.catch(() => {});
    return answer;
  }

  #step(): Promise<Step> {
    const queued = this.#queued.shift();
    if (queued) return Promise.resolve(queued);
    const step = new Promise<Step>((resolve) => (this.#settle = resolve));
    if (!this.#outstanding) {
      this.#outstanding = true;
      this.#iterator.next().then(
        (result) => {
          this.#outstanding = false;
          this.#arrive({ kind: 'next', result });
        },
        (error: unknown) => {
          this.#outstanding = false;
          this.#arrive({ kind: 'error', error });
        },
      );
    }
    return step;
  }

  #arrive(step: Step): void {
    const settle = this.#settle;
    this.#settle = undefined;
    if (settle) settle(step);
    else this.#queued.push(step);
  }

  #event(value: Yielded): ExecutorEvent {
    if (isEvent(value)) {
      if (value.kind === 'status-update' && isInterrupted(value.state)) {
        throw new TypeError(
          `an agent function cannot yield ${value.state}: call ctx.ask() instead`,
        );
      }
      return value;
    }
    if (typeof value !== 'string' && !isPart(value)) {
      throw new TypeError(`an agent function yielded ${shown(value)}; ${MAY_YIELD}`);
    }
    const part: Part = typeof value === 'string' ? { kind: 'text', text: value } : value;
    if (part.kind === 'text' && this.#text.length <= MAX_FINAL_TEXT) this.#text += part.text;
    const append = this.#begun;
    this.#begun = true;
    const artifact = { artifactId: this.#artifactId, name: 'response', parts: [part] };
    return append
      ? { kind: 'artifact-update', artifact, append }
      : { kind: 'artifact-update', artifact };
  }

  #completed(): ExecutorEvent {
    const whole = this.#text.length > 0 && this.#text.length <= MAX_FINAL_TEXT;
    return whole
      ? { kind: 'status-update', state: 'completed', message: this.#text }
      : { kind: 'status-update', state: 'completed' };
  }
}

const WRONG_FUNCTION = 'createAgent needs an async generator function: async function* (ctx) { … }';
const MAY_YIELD =
  'it may yield a string, a part ({ kind: "text" | "file" | "data", … }) ' +
  'or an event ({ kind: "status-update" | "artifact-update", … })';

/** Refuses arguments with which no task could ever succeed. */
function checkArguments({ name, description }: AgentOptions, run: unknown): void {
  for (const [field, value] of Object.entries({ name, description })) {
    if (typeof value !== 'string' || (field === 'name' && value.trim() === '')) {
      throw new TypeError(`createAgent needs a ${field}, got ${shown(value)}`);
    }
  }
  // A plain function is allowed, because it may return another function's generator.
  const kind = Object.prototype.toString.call(run);
  if (kind !== '[object AsyncGeneratorFunction]' && kind !== '[object Function]') {
    throw new TypeError(`${WRONG_FUNCTION}; got ${shown(run)}`);
  }
}

function isEvent(value: Yielded): value is ExecutorEvent {
  const kind = kindOf(value);
  return kind === 'status-update' || kind === 'artifact-update';
}

function kindOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Yielded, string | void> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** A wrong value in one line, for an error. */
function shown(value: unknown): string {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 60 });
}
