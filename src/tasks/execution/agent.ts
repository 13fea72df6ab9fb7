/**
 * Creates an agent from an async generator function:
 *
 *   const echo = createAgent({ name: 'Echo', description: 'Repeats your words' }, async function* (ctx) {
 *     for (const word of ctx.text.split(' ')) yield `${word} `;
 *   });
 *
 * Each yielded string or part is sent as a chunk of one artifact. Consecutive texts form one text part of the artifact.
 * Yielded events are sent unchanged. When the function returns, the task is completed. A returned string is sent as the
 * last chunk (`lastChunk`). If the function ends right after a yield and returns no string, the yielded chunk is the
 * last one. If the function throws, the task fails.
 *
 * `await ctx.ask('Which city?')` puts the task into input-required and resolves with the answer. The generator waits
 * for the answer in memory. The generator is lost if the process restarts or if too many generators wait. Then the
 * function runs again from its start when the answer arrives. In this run, earlier questions immediately get their
 * recorded answers, and values that were already sent are not sent again. So the code before an `ask` may run more than
 * once. If a side effect must happen only once, place it after the last question, or make it idempotent.
 *
 * If the option `resumes` is set, the function also runs again after a crash, and yields its whole answer again. As
 * long as its text is the same as the text that was stored before the crash, nothing is sent. The rest is appended to
 * the stored text. If the new text differs, it replaces the stored text.
 */
import { inspect } from 'node:util';
import { isObject, type MaybePromise } from '../../base/index.ts';
import {
  isInterrupted,
  ONE_TEXT_KEY,
  textOf,
  type Artifact,
  type Message,
  type Part,
  type Task,
  uuidv7,
} from '../../protocol/index.ts';
import { isPart } from './complete-event.ts';
import type {
  A2AAgent,
  AgentProfile,
  ArtifactEvent,
  ExecutionContext,
  ExecutionRules,
  ExecutorEvent,
  Reception,
  RequestContext,
} from './executor.ts';
import { CONTROLLER, type RuntimeContext } from './runtime-context.ts';
import { StoredText, type Unsent } from './stored-text.ts';

/**
 * The answer to a question that was asked with `ctx.ask`.
 *
 *   const { text } = await ctx.ask('Which city?');
 */
export interface GivenAnswer {
  readonly text: string;
  readonly message: Message;
}

/**
 * The argument of an agent function: the message, its task, and `ask`.
 *
 *   async function* (ctx) { yield `You said: ${ctx.text}`; }
 */
export interface AgentContext extends Omit<ExecutionContext, 'signal'> {
  /**
   * The text of `message`. In an agent function, `message` is the first message of the turn. Later messages are
   * answers.
   */
  readonly text: string;
  readonly signal: AbortSignal;
  /**
   * Asks the client a question and waits for the answer. With `auth`, the task's state is auth-required instead of
   * input-required.
   */
  ask(question: string, options?: { readonly auth?: boolean }): Promise<GivenAnswer>;
}

/**
 * A value that an agent function may yield. A string or a part is a chunk of the answer. An event is sent unchanged.
 */
export type Yielded = string | Part | ExecutorEvent;

/**
 * A function that does the work of an agent. If it returns a string, the string is the last chunk of the answer.
 *
 *   const run: AgentFunction = async function* (ctx) { yield ctx.text.toUpperCase(); };
 */
export type AgentFunction = (context: AgentContext) => AsyncIterable<Yielded, string | void>;

/** The agent's profile, from which the server makes the agent card, and options for its tasks. */
export interface AgentOptions extends AgentProfile, Pick<ExecutionRules, 'resumes'> {
  /** Whether a message to a completed task starts a new turn. A function can decide this for each request. */
  readonly continues?: boolean | ((context: RequestContext) => boolean);
  /**
   * Whether a message with a context id but no task id answers the task that waits for input in this context. This
   * applies only if exactly one task of the context waits, and the caller started it. Some clients answer questions in
   * this way. By default, such a message starts a new task.
   */
  readonly answersByContext?: boolean;
  /**
   * Answers a message without creating a task. Returns text or a message, or undefined to create a task and run the
   * function.
   */
  readonly reply?: (
    context: RequestContext & { readonly text: string },
  ) => MaybePromise<string | Message | undefined>;
}

/**
 * Maximum number of generators that wait for an answer in memory. If there are more, the oldest is dropped. Its
 * function runs again when the answer arrives.
 */
const MAX_WAITING = 1000;

/**
 * Makes an agent for `serve` from an async generator function.
 *
 *   const echo = createAgent({ name: 'Echo', description: 'Repeats your words' }, async function* (ctx) {
 *     yield ctx.text;
 *   });
 *   await serve(echo).listen(4000);
 */
export function createAgent(options: AgentOptions, run: AgentFunction): A2AAgent {
  checkArguments(options, run);
  const { reply, continues, resumes, answersByContext = false, ...profile } = options;
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
    let known = waiting.get(id);
    waiting.delete(id);
    // If another node got the answer to the generator's question, this generator is outdated.
    if (known && known.turnLength + 1 !== context.turn.length) {
      known.drop();
      known = undefined;
    }
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
    return { reply: { kind: 'message', messageId: uuidv7(), role: 'agent', parts } };
  }

  return {
    profile,
    execute,
    rules: { resumes },
    ...((reply || continues !== undefined) && { receive }),
    ...(answersByContext && { answersByContext: () => true }),
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
  /** The controller of the agent function's signal. If possible, it is the controller of the first execution. */
  readonly #abort: AbortController;
  /** The recorded answers that the generator has not received yet in this run. */
  readonly #recorded: Message[];
  #replaying: boolean;
  readonly #resumed: boolean;
  /** The text of the response before a crash, while the generator yields the same text again. */
  #stored: StoredText | undefined;
  /** Resolves the step that `events` waits for. */
  #settle: ((step: Step) => void) | undefined;
  /** Whether the iterator's `next` was called and its promise has not settled. */
  #outstanding = false;
  #queued: Step[] = [];
  #resumeAsk:
    | { resolve: (answer: GivenAnswer) => void; reject: (error: unknown) => void }
    | undefined;
  readonly #artifactId: string;
  #begun = false;
  /** Number of the user's messages in this turn that the generator knows. */
  turnLength: number;

  constructor(run: AgentFunction, context: RuntimeContext) {
    const controller = context[CONTROLLER];
    // Another executor may have copied the runtime's context and replaced its signal.
    const isShared = controller?.signal === context.signal;
    this.#abort = controller && isShared ? controller : new AbortController();
    const message = context.turn[0] ?? context.message;
    this.turnLength = context.turn.length;
    this.#recorded = context.turn.slice(1);
    this.#replaying = this.#recorded.length > 0;
    this.#resumed = context.resumed;
    // The id is the same in every run of this turn, so that a generator that runs again continues the same artifact.
    this.#artifactId = `response-${message.messageId}`;
    if (context.resumed) this.#stored = StoredText.of(context.task, this.#artifactId);
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

  /** Gives the generator the answer to its open question. */
  answer(message: Message): void {
    this.turnLength++;
    this.#resumeAsk?.resolve({ text: textOf(message.parts), message });
    this.#resumeAsk = undefined;
  }

  /** Rejects the open question. Called when the signal is aborted. */
  handleEvent(): void {
    this.#resumeAsk?.reject(this.#abort.signal.reason);
  }

  /** Ends the generator. Rejects its open question, and runs its `finally` blocks. */
  drop(): void {
    this.#abort.abort();
    this.handleEvent();
    this.#resumeAsk = undefined;
    void this.#iterator.return?.().catch(() => {});
  }

  /** Yields events until the generator asks a question or ends. Calls `park` before it yields a question. */
  async *events(context: ExecutionContext, park: () => void): AsyncGenerator<ExecutorEvent> {
    const { signal } = context;
    const passOn =
      signal === this.#abort.signal ? undefined : () => this.#abort.abort(signal.reason);
    if (passOn) signal.addEventListener('abort', passOn, { once: true });
    let asked = false;
    try {
      if (context.task.status.state !== 'working')
        yield { kind: 'status-update', state: 'working' };
      for (;;) {
        const step = await this.#step();
        if (step.kind === 'error') throw step.error;
        if (step.kind === 'ask') {
          asked = true;
          // If only the start of the stored text was yielded, the rest is removed before the question, because the run
          // after the answer does not compare its text with the stored text.
          const correction = this.#stored?.isPartial ? this.#resume(this.#stored.end()) : undefined;
          if (correction) yield correction;
          park();
          const state = step.auth ? 'auth-required' : 'input-required';
          yield { kind: 'status-update', state, message: step.question };
          return;
        }
        if (step.result.done) {
          const { value: last } = step.result;
          const chunk = this.#lastChunk(typeof last === 'string' ? last : '');
          if (chunk) yield { ...chunk, lastChunk: true };
          // After an abort, the generator may have returned early. Then the runtime sets the task's state.
          if (!signal.aborted) yield { kind: 'status-update', state: 'completed' };
          return;
        }
        const replaying = this.#replaying;
        const { value } = step.result;
        const event = isEvent(value) ? checkedEvent(value) : this.#next(partOf(value));
        if (!event) continue;
        // Values before a recorded answer were sent in an earlier run, so they are not sent again. After a crash, only
        // events are skipped here, because `#next` has already removed the stored content of strings and parts.
        if (replaying && !(this.#resumed && !isEvent(value))) continue;
        const isLast =
          event.kind === 'artifact-update' && event !== value && (await this.#isOver());
        yield isLast ? { ...event, lastChunk: true } : event;
      }
    } finally {
      if (passOn) signal.removeEventListener('abort', passOn);
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
    // Later questions add no second listener, because the listener is the same object.
    this.#abort.signal.addEventListener('abort', this);
    const answer = new Promise<GivenAnswer>((resolve, reject) => {
      this.#resumeAsk = { resolve, reject };
      this.#arrive({ kind: 'ask', question, auth });
    });
    // Even if the agent does not await the answer, a rejection must not end the process.
    answer.catch(() => {});
    return answer;
  }

  /**
   * Returns whether the function ends right after this yield and returns no text. Some clients use an answer only
   * when they have received its last chunk.
   */
  async #isOver(): Promise<boolean> {
    if (this.#queued.length === 0) {
      // Promise.race would keep memory until the next step, and a generator may wait for hours.
      await new Promise<void>((resolve) => {
        const settle = (step: Step) => {
          this.#queued.push(step);
          resolve();
        };
        this.#settle = settle;
        setImmediate(resolve);
        this.#request();
      });
      this.#settle = undefined;
    }
    const [step] = this.#queued;
    return step?.kind === 'next' && step.result.done === true && !step.result.value;
  }

  #step(): Promise<Step> {
    const queued = this.#queued.shift();
    if (queued) return Promise.resolve(queued);
    const step = new Promise<Step>((resolve) => (this.#settle = resolve));
    this.#request();
    return step;
  }

  /** Asks the generator for its next value, unless this was done already. */
  #request(): void {
    if (this.#outstanding) return;
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

  #arrive(step: Step): void {
    const settle = this.#settle;
    this.#settle = undefined;
    if (settle) settle(step);
    else this.#queued.push(step);
  }

  /** Returns the chunk for a part, or undefined if the part was stored before a crash. */
  #next(part: Part): ArtifactEvent | undefined {
    return this.#stored ? this.#resume(this.#stored.unsent(part)) : this.#chunk([part]);
  }

  /**
   * Returns the last chunk: the text that the function has returned, or the chunk of `StoredText.end`. Returns
   * undefined if there is neither.
   */
  #lastChunk(text: string): ArtifactEvent | undefined {
    const chunk = text === '' ? undefined : this.#next({ kind: 'text', text });
    return chunk ?? (this.#stored && this.#resume(this.#stored.end()));
  }

  /**
   * Returns the chunk with the unsent parts, and ends the comparison with the stored text. Does nothing if `unsent` is
   * undefined.
   */
  #resume(unsent: Unsent | undefined): ArtifactEvent | undefined {
    if (!unsent) return undefined;
    this.#stored = undefined;
    this.#begun = unsent.append;
    return this.#chunk(unsent.parts);
  }

  #chunk(parts: Part[]): ArtifactEvent {
    const artifact: Artifact = { artifactId: this.#artifactId, name: 'response', parts };
    const append = this.#begun;
    this.#begun = true;
    if (append) return { kind: 'artifact-update', artifact, append };
    artifact.metadata = { [ONE_TEXT_KEY]: true };
    return { kind: 'artifact-update', artifact };
  }
}

const WRONG_FUNCTION = 'createAgent needs an async generator function: async function* (ctx) { … }';
const MAY_YIELD =
  'it may yield a string, a part ({ kind: "text" | "file" | "data", … }) ' +
  'or an event ({ kind: "status-update" | "artifact-update", … })';

/** Throws a TypeError if the name, the description or the function is invalid. */
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

/** Returns the event that a function has yielded. Throws a TypeError if an agent function must not yield this event. */
function checkedEvent(event: ExecutorEvent): ExecutorEvent {
  if (event.kind === 'status-update' && isInterrupted(event.state)) {
    throw new TypeError(`an agent function cannot yield ${event.state}: call ctx.ask() instead`);
  }
  return event;
}

function partOf(value: string | Part): Part {
  if (typeof value === 'string') return { kind: 'text', text: value };
  if (isPart(value)) return value;
  throw new TypeError(`an agent function yielded ${shown(value)}; ${MAY_YIELD}`);
}

function isEvent(value: unknown): value is ExecutorEvent {
  const kind = isObject(value) ? value.kind : undefined;
  return kind === 'status-update' || kind === 'artifact-update';
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Yielded, string | void> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Formats an invalid value on one line, for an error message. */
function shown(value: unknown): string {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 60 });
}
