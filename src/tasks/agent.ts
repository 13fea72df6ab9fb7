/**
 * The comfortable way to write an agent: an async generator.
 *
 *   const echo = createAgent({ name: 'Echo', description: 'Repeats your words' }, async function* (ctx) {
 *     for (const word of ctx.text.split(' ')) yield `${word} `;
 *   });
 *
 * What it yields becomes the task: strings and parts are chunks of one artifact, events go out as they are. Returning
 * completes the task with the whole text as its status message, throwing fails it.
 *
 * `await ctx.ask('Which city?')` puts the task into input-required and comes back with the answer, however much later.
 * Meanwhile the generator is kept in memory. If it is gone by then (a restart, or too many others are waiting), the
 * generator is run again from its start: earlier questions get their recorded answers at once, and what it had yielded
 * before is not sent a second time. So work before an `ask` may be done twice; effects that must not be belong behind
 * the last question, or are made idempotent by the author.
 *
 * An agent that `resumes` after a crash is run again in the same way. How much of its answer had gone out is not known
 * then, so the answer begins anew: its first chunk replaces what there was.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { MaybePromise } from '../base/index.ts';
import { isInterrupted, textOf, type Message, type Part, type Task } from '../protocol/index.ts';
import type {
  A2AAgent,
  AgentProfile,
  ExecutionContext,
  ExecutionRules,
  ExecutorEvent,
  Reception,
  RequestContext,
} from './executor.ts';

export interface GivenAnswer {
  readonly text: string;
  readonly message: Message;
}

export interface AgentContext extends Omit<ExecutionContext, 'signal'> {
  /** The text of the message. */
  readonly text: string;
  readonly signal: AbortSignal;
  /** Asks whoever is on the other side, and waits for the answer. `auth`: what is needed is an authorization. */
  ask(question: string, options?: { readonly auth?: boolean }): Promise<GivenAnswer>;
}

/** A string or a part is a chunk of the agent's answer; events are for those who want more. */
export type Yielded = string | Part | ExecutorEvent;

export type AgentFunction = (context: AgentContext) => AsyncIterable<Yielded>;

export interface AgentOptions extends AgentProfile, Pick<ExecutionRules, 'resumes'> {
  /** A message to a completed task starts a new turn of it. A function decides by the request. */
  readonly continues?: boolean | ((context: RequestContext) => boolean);
  /** Answers without a task: text or a message. Undefined: the generator is run. */
  readonly reply?: (
    context: RequestContext & { readonly text: string },
  ) => MaybePromise<string | Message | undefined>;
}

/** So many generators wait for an answer in memory at most; the oldest give way and are run again when needed. */
const MAX_WAITING = 1000;
/** A longer answer is only in the artifact, not in the completing status as well. */
const MAX_FINAL_TEXT = 256 * 1024;

export function createAgent(options: AgentOptions, run: AgentFunction): A2AAgent {
  const { reply, continues, resumes, ...profile } = options;
  const waiting = new Map<string, Conversation>();

  function park(taskId: string, conversation: Conversation): void {
    waiting.set(taskId, conversation);
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
    const conversation = known ?? new Conversation(run, context);
    return conversation.events(context, () => park(id, conversation));
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
  | { readonly kind: 'next'; readonly result: IteratorResult<Yielded> }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'ask'; readonly question: string; readonly auth: boolean };

/** One run of the generator, across all the questions that it asks. */
class Conversation {
  readonly #iterator: AsyncIterator<Yielded>;
  readonly #abort = new AbortController();
  /** Answers that the log has already, for a generator that is run again. */
  readonly #recorded: Message[];
  #replaying: boolean;
  readonly #resumed: boolean;
  /** Resolves the step that is being waited for. */
  #settle: ((step: Step) => void) | undefined;
  /** The iterator's `next` has been called and has not come back. */
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
    // The same in every run of this turn, so that a generator that is run again goes on with its artifact.
    this.#artifactId = `response-${message.messageId}`;
    this.#iterator = run({
      ...context,
      message,
      text: textOf(message.parts),
      signal: this.#abort.signal,
      ask: (question, options) => this.#ask(question, options?.auth === true),
    })[Symbol.asyncIterator]();
  }

  /** Hands the answer to the question that the generator is waiting with. */
  answer(message: Message): void {
    this.#resumeAsk?.resolve({ text: textOf(message.parts), message });
    this.#resumeAsk = undefined;
  }

  /** Gives the generator up: its question fails, and its clean-up runs. */
  drop(): void {
    this.#abort.abort();
    this.#resumeAsk?.reject(this.#abort.signal.reason);
    this.#resumeAsk = undefined;
    void this.#iterator.return?.().catch(() => {});
  }

  /** Yields what the generator yields, until it asks or ends. `park` is called before a question goes out. */
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
          // Told to stop, it stopped: the runtime says what that means.
          if (!signal.aborted) yield this.#completed();
          return;
        }
        const replaying = this.#replaying;
        const { value } = step.result;
        const event = this.#event(value);
        // The answer is whole again only if all of its chunks follow the one that replaces it.
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
    if (this.#resumeAsk) return Promise.reject(new Error('a question is still open'));
    const answer = new Promise<GivenAnswer>((resolve, reject) => {
      this.#resumeAsk = { resolve, reject };
      this.#arrive({ kind: 'ask', question, auth });
    });
    // An agent that does not wait for its own question is no reason for the process to end.
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
        throw new TypeError(`an agent function does not yield ${value.state}; it calls ctx.ask()`);
      }
      return value;
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

function isEvent(value: Yielded): value is ExecutorEvent {
  if (typeof value === 'string') return false;
  return value.kind === 'status-update' || value.kind === 'artifact-update';
}
