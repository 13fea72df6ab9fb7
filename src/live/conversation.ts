/**
 * The conversation of a live session: its current task, the state of the turn, and the queue of prompts.
 *
 * The conversation follows the log of the task like any other client. Messages over plain A2A also start turns. The
 * conversation sees these turns in the log, and sends its queued prompts between turns. After a failed or canceled
 * task, the conversation continues in a new task of the same context.
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

/** Limits of the queue: number of prompts and total size. */
const MAX_QUEUED = 64;
const MAX_QUEUED_BYTES = 32 * 1024 * 1024;
/** Maximum number of attempts to send an answer while the turn changes its state. */
const ANSWER_TRIES = 50;
/** How long to wait for an event before a retry. */
const MOVEMENT_MS = 100;
/** The delay between attempts to create or read a task while the store is unavailable. */
const STORE_WAIT_MS = 1000;
/** Maximum number of earlier tasks from which clients can resume. */
const MAX_FORMER = 64;

/** The call context of requests that the conversation itself makes. */
const OWN_CALL: Call = { extensions: [EXTENSION_URI] };

export interface ConversationOptions {
  /** The request handler of the server. */
  readonly handler: RequestHandler;
  /** The folder that the coding agent works in. */
  readonly workspace: string;
  /** The ids of the current tasks of live sessions. */
  readonly live: Set<string>;
  /** The context of the conversation to continue, or undefined for a new conversation. */
  readonly contextId?: string | undefined;
  /** The id of the task to continue. Ignored if the task no longer accepts messages. */
  readonly taskId?: string | undefined;
  /** The ids of the earlier tasks of the conversation, oldest first. A client that joins gets their history. */
  readonly former?: readonly string[] | undefined;
  /** Additional MCP servers for this session. */
  readonly mcpServers?: McpServers | undefined;
  readonly logger: Logger;
  /** Called when the queue changes. */
  readonly onQueue: () => void;
  /** Called once, when the conversation ends. */
  readonly onClose: () => void;
}

interface Waiting extends QueuedPrompt {
  readonly message: Message;
  readonly call: Call;
  readonly forgotten: PromiseWithResolvers<void>;
  /** Reports the result of the first attempt to send the prompt. */
  tried?: ((outcome: { readonly error?: unknown; readonly queued?: boolean }) => void) | undefined;
}

type TurnState = 'idle' | 'busy' | 'waiting';

export class Conversation {
  readonly #options: ConversationOptions;
  readonly #ending = new AbortController();
  #task: Task;
  /** `idle`: the next message starts a turn. `busy`: a turn is running. `waiting`: the turn waits for answers. */
  #state: TurnState;
  /** The sequence number of the last event that was received. */
  #seq = 0;
  #stream: TaskStream | undefined;
  readonly #waiting = new WaitingCalls();
  readonly #queue: Waiting[] = [];
  #sending = false;
  #pumped: Promise<void> | undefined;
  #former: readonly string[];
  /** Resolved when the conversation moves to a new task or ends. */
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
    this.#former = options.former?.slice(-MAX_FORMER) ?? [];
  }

  /** The current task, as it was when the conversation moved to it. */
  get task(): Task {
    return this.#task;
  }

  /** The ids of the earlier tasks, oldest first. */
  get former(): readonly string[] {
    return this.#former;
  }

  get closed(): boolean {
    return this.#ending.signal.aborted;
  }

  get queued(): readonly QueuedPrompt[] {
    return this.#queue.map(({ text, from }) => ({ text, from }));
  }

  /** Returns whether a client can resume in this task. It can if this is the current task or a known earlier task. */
  leads(taskId: string): boolean {
    return taskId === this.#task.id || this.#former.includes(taskId);
  }

  /**
   * Waits until the conversation has moved on from the task `taskId`. Returns the id of the next task, or undefined if
   * the conversation has ended.
   */
  async taskAfter(taskId: string): Promise<string | undefined> {
    while (!this.closed && this.#task.id === taskId) await this.#renewed.promise;
    if (this.closed) return undefined;
    const index = this.#former.indexOf(taskId);
    return (index < 0 ? undefined : this.#former[index + 1]) ?? this.#task.id;
  }

  /**
   * Starts a turn with the prompt, or queues the prompt until the running turn ends. If all open questions accept text,
   * sends the prompt as an answer instead.
   */
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

  /** Sends an answer. If the agent refuses the answer, throws its error. */
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
        // The turn is changing its state and will accept answers again shortly.
        if (this.#seq === seen) await this.#movement();
      }
    }
  }

  /** Cancels the turn and drops the queued prompts. Returns false if no turn was running. */
  async cancel(call: Call): Promise<boolean> {
    this.#check();
    // A prompt that is being sent is not dropped. Its turn is canceled after it has started.
    const dropped = this.#queue.splice(this.#sending ? 1 : 0);
    for (const { forgotten } of dropped) forgotten.resolve();
    if (dropped.length > 0) this.#options.onQueue();
    if (this.#sending) await this.#pumped;
    if (this.#state === 'idle') return false;
    try {
      await this.#options.handler.cancelTask({ id: this.#task.id }, call);
      return true;
    } catch (error) {
      // The turn has just ended.
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
    throw new A2AError('rateLimited', 'Too many prompts are queued', { retryAfterSeconds: 5 });
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

  /** Sends the queued prompts one by one. Each prompt waits until the previous turn has ended. */
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
    /** Returns whether no event has arrived in the meantime. */
    const still = () => this.#task.id === id && this.#seq === seen;
    // The state is set before the log confirms the turn, so that no other prompt is sent.
    this.#state = 'busy';
    try {
      const sent = await this.#send(next.message, next.call, id);
      // A repeated message starts no turn, so no event will change the state.
      if (still() && sent.kind === 'task') this.#state = turnState(sent);
      tried?.({});
    } catch (error) {
      if (still()) this.#state = 'idle';
      if (isBusy(error) || (!tried && isUnavailable(error))) {
        // Another turn is running, or the server is full. The prompt stays first in the queue.
        next.tried = undefined;
        tried?.({ queued: true });
        onQueue();
        if (still()) await this.#movement();
        return;
      }
      tried?.({ error });
      next.forgotten.resolve();
      if (!tried) logger.warn({ err: error, from: next.from }, 'a queued prompt was refused');
    }
    if (this.#queue[0] === next) this.#queue.shift();
    if (!tried) onQueue();
  }

  /** Waits for the next event, with a timeout. */
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
          this.#options.logger.error({ err: error }, 'failed to read the task of the live session');
          this.close();
        });
      },
    });
  }

  #saw(event: StreamEvent, seq: number): void {
    this.#seq = seq;
    if (event.kind === 'status-update') {
      // Only events with data and the end of a turn change the waiting calls. Most events are text, so they are
      // skipped.
      if (isTerminal(event.status.state) || hasData(event)) {
        for (const fact of readStatus(event).facts) this.#waiting.take(fact);
      }
      this.#enter(turnState(event));
    } else if (event.kind === 'task') {
      this.#enter(turnState(event));
    }
    this.#move();
  }

  #enter(state: TurnState): void {
    this.#state = state;
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
        logger.warn({ err: error }, 'failed to create a task for the live session; retrying');
        await this.#pause();
        if (this.closed) return;
      }
    }
    live.delete(before);
    if (this.closed) return;
    live.add(task.id);
    this.#former = [...this.#former, before].slice(-MAX_FORMER);
    this.#task = task;
    this.#seq = 0;
    this.#state = 'idle';
    const { resolve } = this.#renewed;
    this.#renewed = Promise.withResolvers();
    resolve();
    await this.#watch(0);
  }
}

function over(): A2AError {
  return new A2AError('unavailable', 'The live session has ended');
}

/** Returns whether the task refused the message only because it is busy or has just ended. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof A2AError) || error.kind !== 'unsupportedOperation') return false;
  const { reason, info } = error.detail;
  return reason === undefined && info?.['taskId'] !== undefined;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof A2AError && error.kind === 'unavailable';
}

function hasData({ status }: TaskStatusUpdateEvent): boolean {
  return status.message?.parts.some(({ kind }) => kind === 'data') === true;
}

/** Returns the state of the turn. A failed or canceled task counts as busy until the conversation has a new task. */
function turnState(event: Task | TaskStatusUpdateEvent): TurnState {
  const { state } = event.status;
  const reserved = event.kind === 'task' && state === 'submitted' && !event.history?.length;
  if (state === 'completed' || reserved) return 'idle';
  return isInterrupted(state) ? 'waiting' : 'busy';
}

/** Creates a task with the settings of the session, so that a client cannot change them with its first message. */
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

/** Returns the task if it still accepts messages, or undefined if it has failed or was canceled or rejected. */
async function continued(handler: RequestHandler, id: string): Promise<Task | undefined> {
  const task = await handler.getTask({ id, historyLength: 0 }, OWN_CALL);
  const { state } = task.status;
  return isTerminal(state) && state !== 'completed' ? undefined : task;
}
