/**
 * The conversation of a live session: which task it is in, how far its turn is, and what is to be said next.
 *
 * It follows the task's log like any other client. Messages that come over A2A beside it are turns like its own; it
 * sees them begin and end, and sends what it has queued in between. A task that failed or was canceled is over: the
 * conversation goes on in another one of the same context.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  EXTENSION_URI,
  extensionMetadata,
  hasOption,
  type McpServers,
  readStatus,
  WaitingCalls,
} from '../protocol/development-tool/index.ts';
import {
  A2AError,
  isInterrupted,
  isTerminal,
  type Call,
  type Message,
  type SendResult,
  type StreamEvent,
  type Task,
  type TaskStatusUpdateEvent,
} from '../protocol/index.ts';
import type { QueuedPrompt, TakenPrompt } from './client/session.ts';
import { type Logger, type RequestHandler, type TaskStream, roughSize } from '../tasks/index.ts';

/** Prompts that wait, and how large they may be together. */
const MAX_QUEUED = 64;
const MAX_QUEUED_BYTES = 32 * 1024 * 1024;
/** An answer that comes while a turn is between two states is offered again, so often. */
const ANSWER_TRIES = 50;
/** How long to wait for an event before looking again. */
const MOVEMENT_MS = 100;
/** Between two attempts where the store has no room for a new task, or does not give the present one. */
const STORE_WAIT_MS = 1000;
/** Tasks from before that one may still go on in, until one has come to the present. */
const MAX_FORMER = 64;

/** The conversation's own calls: nobody's in particular, as for all clients of the session. */
const OWN_CALL: Call = { extensions: [EXTENSION_URI] };

export interface ConversationOptions {
  readonly handler: RequestHandler;
  readonly workspace: string;
  /** The tasks that span turns. */
  readonly live: Set<string>;
  readonly contextId?: string | undefined;
  /** The task to go on with, where it still takes messages. */
  readonly taskId?: string | undefined;
  /** The tasks before that one, oldest first. */
  readonly former?: readonly string[] | undefined;
  readonly mcpServers?: McpServers | undefined;
  readonly logger: Logger;
  /** The queue has changed. */
  readonly onQueue: () => void;
  /** A turn has ended or waits, or the task is another one. */
  readonly onRest: () => void;
  /** It is over, by itself or by `close`. */
  readonly onClose: () => void;
}

interface Waiting extends QueuedPrompt {
  readonly message: Message;
  readonly call: Call;
  readonly forgotten: PromiseWithResolvers<void>;
  /** Tells the one who waits to hear whether it was taken at once. */
  tried?: ((outcome: { readonly error?: unknown; readonly queued?: boolean }) => void) | undefined;
}

type TurnState = 'idle' | 'busy' | 'waiting';

export class Conversation {
  readonly #options: ConversationOptions;
  readonly #ending = new AbortController();
  #task: Task;
  /** `idle`: a message begins a turn. `waiting`: for answers. */
  #state: TurnState;
  /** The last event of the task that was seen. */
  #seq = 0;
  #stream: TaskStream | undefined;
  /** Calls that wait for an answer. */
  readonly #waiting = new WaitingCalls();
  readonly #queue: Waiting[] = [];
  #sending = false;
  #pumped: Promise<void> | undefined;
  /** The tasks from before, oldest first, each with the one that came after it. */
  readonly #former = new Map<string, string>();
  /** Resolved when there is another task, or none any more. */
  #renewed = Promise.withResolvers<void>();
  #moved = Promise.withResolvers<void>();

  static async open(options: ConversationOptions): Promise<Conversation> {
    const { handler, taskId } = options;
    const known = taskId === undefined ? undefined : await continued(handler, taskId);
    const task = known ?? (await reserve(options, options.contextId));
    const conversation = new Conversation(options, task);
    options.live.add(task.id);
    await conversation.#watch(0);
    return conversation;
  }

  private constructor(options: ConversationOptions, task: Task) {
    this.#options = options;
    this.#task = task;
    this.#state = turnState(task);
    const former = options.former?.slice(-MAX_FORMER) ?? [];
    for (const [index, id] of former.entries()) this.#former.set(id, former[index + 1] ?? task.id);
  }

  /** As it was when the conversation came to it. */
  get task(): Task {
    return this.#task;
  }

  /** The tasks that it was in before, oldest first. */
  get former(): readonly string[] {
    return [...this.#former.keys()];
  }

  get closed(): boolean {
    return this.#ending.signal.aborted;
  }

  get queued(): readonly QueuedPrompt[] {
    return this.#queue.map(({ text, from }) => ({ text, from }));
  }

  /** Whether one can go on in that task: it is the present one, or leads to it. */
  leads(taskId: string): boolean {
    return taskId === this.#task.id || this.#former.has(taskId);
  }

  /** The task that the conversation went on in when it left `taskId`, once it has. Undefined: it is over. */
  async taskAfter(taskId: string): Promise<string | undefined> {
    while (!this.closed && this.#task.id === taskId) await this.#renewed.promise;
    return this.closed ? undefined : (this.#former.get(taskId) ?? this.#task.id);
  }

  /** Begins a turn, or waits for the one that is under way. Where a question waits for words, it may be answered. */
  async prompt(
    message: Message,
    call: Call,
    shown: QueuedPrompt,
    mayAnswer: boolean,
  ): Promise<TakenPrompt> {
    this.#check();
    const { messageId } = message;
    if (this.#queue.some((each) => each.message.messageId === messageId)) return this.#taken(true);
    this.#checkRoom();
    if (mayAnswer && this.#state === 'waiting' && this.#waitsForWords()) {
      try {
        await this.#send(message, call, this.#task.id);
        return this.#taken(false);
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
    }
    const waiting: Waiting = { ...shown, message, call, forgotten: Promise.withResolvers() };
    const queue = () => ({ ...this.#taken(true), forgotten: waiting.forgotten.promise });
    if (this.#state !== 'idle' || this.#sending || this.#queue.length > 0) {
      this.#queue.push(waiting);
      this.#options.onQueue();
      return queue();
    }
    return new Promise((resolve, reject) => {
      waiting.tried = ({ error, queued = false }) => {
        if (error === undefined) resolve(queued ? queue() : this.#taken(false));
        else reject(error);
      };
      this.#queue.push(waiting);
      this.#pump();
    });
  }

  /** Hands an answer over. Throws what the agent has against it. */
  async answer(message: Message, call: Call): Promise<void> {
    this.#check();
    const { id } = this.#task;
    for (let tries = 1; ; tries++) {
      const seen = this.#seq;
      try {
        await this.#send(message, call, id);
        return;
      } catch (error) {
        const over = this.closed || this.#task.id !== id || tries >= ANSWER_TRIES;
        if (over || !isBusy(error)) throw error;
        // The turn comes to rest, or has just been taken up: it takes answers again in a moment.
        if (this.#seq === seen) await this.#movement();
      }
    }
  }

  /** Stops the turn, and forgets what was to come behind it. False: there was none. */
  async cancel(call: Call): Promise<boolean> {
    this.#check();
    // What is on its way is let through, so that there is a turn to cancel.
    const dropped = this.#queue.splice(this.#sending ? 1 : 0);
    for (const { forgotten } of dropped) forgotten.resolve();
    if (dropped.length > 0) this.#options.onQueue();
    if (this.#sending) await this.#pumped;
    if (this.#state === 'idle') return false;
    try {
      await this.#options.handler.cancelTask({ id: this.#task.id }, call);
      return true;
    } catch (error) {
      // It came to its end by itself.
      if (error instanceof A2AError && error.kind === 'taskNotCancelable') return false;
      throw error;
    }
  }

  close(): void {
    if (this.closed) return;
    this.#ending.abort();
    this.#options.live.delete(this.#task.id);
    this.#stream?.close();
    for (const { tried } of this.#queue.splice(0)) tried?.({ error: over() });
    this.#renewed.resolve();
    this.#move();
    this.#options.onClose();
  }

  #check(): void {
    if (this.closed) throw over();
  }

  #checkRoom(): void {
    const bytes = this.#queue.reduce((sum, { message }) => sum + roughSize(message), 0);
    if (this.#queue.length < MAX_QUEUED && bytes < MAX_QUEUED_BYTES) return;
    throw new A2AError('rateLimited', 'Too many prompts wait already', { retryAfterSeconds: 5 });
  }

  #taken(queued: boolean): TakenPrompt {
    return { queued, taskId: this.#task.id };
  }

  #waitsForWords(): boolean {
    return this.#waiting.calls.every((call) => hasOption(call, 'answer'));
  }

  #send(message: Message, call: Call, taskId: string): Promise<SendResult> {
    const { contextId } = this.#task;
    return this.#options.handler.sendMessage(
      {
        message: { ...message, taskId, contextId },
        configuration: { blocking: false, historyLength: 0 },
      },
      call,
    );
  }

  #pump(): void {
    if (!this.#sending) this.#pumped = this.#sendWaiting();
  }

  /** Sends what waits, one after the other, each when the turn before it has ended. */
  async #sendWaiting(): Promise<void> {
    this.#sending = true;
    try {
      while (this.#state === 'idle' && !this.closed) {
        const [next] = this.#queue;
        if (!next) return;
        await this.#sendFirst(next);
      }
    } finally {
      this.#sending = false;
    }
  }

  async #sendFirst(next: Waiting): Promise<void> {
    const { onQueue, logger } = this.#options;
    const { id } = this.#task;
    const seen = this.#seq;
    const { tried } = next;
    /** Nothing has happened meanwhile. */
    const still = () => this.#task.id === id && this.#seq === seen;
    // The log will say so in a moment; until then nothing else is to begin.
    this.#state = 'busy';
    try {
      const sent = await this.#send(next.message, next.call, id);
      // A message that was here before begins nothing: then the log stays as it is.
      if (still() && sent.kind === 'task') this.#state = turnState(sent);
      tried?.({});
    } catch (error) {
      if (still()) this.#state = 'idle';
      if (isBusy(error) || (!tried && isUnavailable(error))) {
        // Somebody else's turn, or no room in the server. This prompt stays in front; the log says when.
        next.tried = undefined;
        tried?.({ queued: true });
        onQueue();
        if (still()) await this.#movement();
        return;
      }
      tried?.({ error });
      next.forgotten.resolve();
      if (!tried) logger.warn({ err: error, from: next.from }, 'a prompt was not taken');
    }
    if (this.#queue[0] === next) this.#queue.shift();
    if (!tried) onQueue();
  }

  /** The next event, or a moment later. */
  async #movement(): Promise<void> {
    await Promise.race([this.#moved.promise, delay(MOVEMENT_MS)]);
  }

  async #watch(after: number): Promise<void> {
    const { id } = this.#task;
    const stream = await this.#options.handler.subscribe({ id, after }, OWN_CALL);
    if (this.closed) return stream.close();
    this.#stream = stream;
    stream.pipe({
      take: ({ event, seq }) => {
        this.#saw(event, seq ?? this.#seq);
        return true;
      },
      end: (reason) => {
        if (this.closed || this.#stream !== stream) return;
        if (reason === 'shutdown') return this.close();
        const going = reason === 'final' ? this.#renew() : this.#watchAgain();
        going.catch((error: unknown) => {
          this.#options.logger.error({ err: error }, 'the live session has lost its task');
          this.close();
        });
      },
    });
  }

  #saw(event: StreamEvent, seq: number): void {
    this.#seq = seq;
    if (event.kind === 'status-update') {
      for (const fact of readStatus(event).facts) this.#waiting.take(fact);
      this.#enter(turnState(event));
    } else if (event.kind === 'task') {
      this.#enter(turnState(event));
    }
    this.#move();
  }

  #enter(state: TurnState): void {
    const changed = this.#state !== state;
    this.#state = state;
    if (changed && state !== 'busy') this.#options.onRest();
    if (state === 'idle') this.#pump();
  }

  #move(): void {
    this.#moved.resolve();
    this.#moved = Promise.withResolvers();
  }

  async #watchAgain(): Promise<void> {
    await this.#pause();
    if (!this.closed) await this.#watch(this.#seq);
  }

  async #pause(): Promise<void> {
    const { signal } = this.#ending;
    await delay(STORE_WAIT_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const { id: before, contextId } = this.#task;
    const { live, logger } = this.#options;
    let task: Task | undefined;
    while (!task) {
      try {
        task = await reserve(this.#options, contextId);
      } catch (error) {
        logger.warn({ err: error }, 'there is no new task for the live session yet');
        await this.#pause();
        if (this.closed) return;
      }
    }
    live.delete(before);
    if (this.closed) return;
    live.add(task.id);
    this.#former.set(before, task.id);
    const [oldest] = this.#former.keys();
    if (this.#former.size > MAX_FORMER && oldest !== undefined) this.#former.delete(oldest);
    this.#task = task;
    this.#seq = 0;
    this.#state = 'idle';
    this.#options.onRest();
    const { resolve } = this.#renewed;
    this.#renewed = Promise.withResolvers();
    resolve();
    await this.#watch(0);
  }
}

function over(): A2AError {
  return new A2AError('unavailable', 'The live session is over');
}

/** A task is being worked on, or has just ended: not now, that is, and nothing else is wrong. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof A2AError) || error.kind !== 'unsupportedOperation') return false;
  const { reason, info } = error.detail;
  return reason === undefined && info?.['taskId'] !== undefined;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof A2AError && error.kind === 'unavailable';
}

/** After an end that is no completion it is busy, until there is another task. */
function turnState(event: Task | TaskStatusUpdateEvent): TurnState {
  const { state } = event.status;
  const reserved = event.kind === 'task' && state === 'submitted' && !event.history?.length;
  if (state === 'completed' || reserved) return 'idle';
  return isInterrupted(state) ? 'waiting' : 'busy';
}

/** The settings are the task's own, so that no client's message moves the session elsewhere. */
function reserve(
  { handler, workspace, mcpServers }: ConversationOptions,
  contextId: string | undefined,
): Promise<Task> {
  const metadata = extensionMetadata({
    workspace_path: workspace,
    ...(mcpServers && { mcpServers }),
  });
  return handler.reserveTask({ contextId, metadata }, OWN_CALL);
}

/** A task that can have another turn, or waits in one. */
async function continued(handler: RequestHandler, id: string): Promise<Task | undefined> {
  const task = await handler.getTask({ id, historyLength: 0 }, OWN_CALL);
  const { state } = task.status;
  return isTerminal(state) && state !== 'completed' ? undefined : task;
}
