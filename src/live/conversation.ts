/**
 * The conversation of a live session: its current task, the state of the turn, and the queue of prompts.
 *
 * The conversation follows the log of its task like any other client. So it also learns of turns that it has not
 * started itself. It sends its queued prompts between turns. After a failed or canceled task, it continues in a new
 * task of the same context.
 */
import { rest, waitAtMost } from '../base/index.ts';
import {
  hasOption,
  type McpServers,
  readStatus,
  requestId,
  type ToolCall,
  WaitingCalls,
} from '../protocol/development-tool/index.ts';
import {
  A2AError,
  isTerminal,
  type Call,
  type SendResult,
  type StreamEvent,
  type Task,
} from '../protocol/index.ts';
import type { LiveClient, QueuedPrompt, TakenPrompt } from './client/session.ts';
import { type Heard, HeardMessages } from './heard-messages.ts';
import {
  alreadyAnswered,
  checkRoom,
  checkSame,
  droppedError,
  overError,
  type Prompt,
  type Sendable,
  type WaitingPrompt,
} from './prompt-queue.ts';
import {
  continued,
  hasData,
  isRefusedAsBusy,
  isUnavailable,
  mayRetry,
  OWN_CALL,
  reserveNextTask,
  reserveSessionTask,
  STORE_WAIT_MS,
  turnState,
  type TurnState,
} from './session-task.ts';
import { type Logger, type RequestHandler, type TaskStream } from '../tasks/index.ts';

/** Maximum number of attempts to send an answer while the turn changes its state. */
const ANSWER_TRIES = 50;
/** Maximum time to wait for an event before a retry. */
const MOVEMENT_MS = 100;
/** Maximum number of earlier tasks whose ids are kept. Clients can resume in these tasks. */
const MAX_FORMER = 64;

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

export class Conversation {
  readonly #options: ConversationOptions;
  readonly #ending = new AbortController();
  #task: Task;
  #state: TurnState;
  /** The sequence number of the last event that was received. */
  #seq = 0;
  #stream: TaskStream | undefined;
  readonly #waiting = new WaitingCalls();
  readonly #queue: WaitingPrompt[] = [];
  readonly #heard = new HeardMessages();
  #sending = false;
  /** The prompt whose request is in progress. */
  #attempted: WaitingPrompt | undefined;
  #pumped: Promise<void> | undefined;
  #former: readonly string[];
  /** Resolved when the conversation moves to a new task or ends. */
  #renewed = Promise.withResolvers<void>();
  #moved = Promise.withResolvers<void>();

  static async open(options: ConversationOptions): Promise<Conversation> {
    const { handler, taskId } = options;
    const known = taskId === undefined ? undefined : await continued(handler, taskId);
    const task = known ?? (await reserveSessionTask(options, options.contextId));
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

  /** The prompts that wait for the end of a turn. A prompt that is being sent for the first time is not included. */
  get queued(): readonly QueuedPrompt[] {
    return this.#queue.filter(({ tried }) => !tried).map(({ shown }) => shown);
  }

  /** Whether the turn waits for answers. */
  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  /** Returns the calls that wait for an answer. Empty if a client of another kind or name started the turn. */
  callsFor(client: Pick<LiveClient, 'kind' | 'name'>): readonly ToolCall[] {
    return this.isWaiting && this.#heard.isTurnOf(client) ? this.#waiting.calls : [];
  }

  /** Returns the position of the message in the log, or undefined if this process has not seen the message. */
  position(messageId: string): Heard | undefined {
    return this.#heard.get(messageId);
  }

  /** Returns whether the message is queued or in the log. */
  knows(messageId: string): boolean {
    return this.#heard.get(messageId) !== undefined || this.#queued(messageId) !== undefined;
  }

  /** Waits until the message is in the log. Throws if it is dropped from the queue, or if the conversation ends. */
  async heard(messageId: string): Promise<Heard> {
    const forgotten = this.#queued(messageId)?.forgotten.promise;
    let reason: A2AError | undefined;
    void forgotten?.then((error) => {
      reason = error;
      this.#move();
    });
    for (;;) {
      const found = this.#heard.get(messageId);
      if (found) return found;
      if (reason) throw reason;
      this.#check();
      await this.#moved.promise;
    }
  }

  #queued(messageId: string): WaitingPrompt | undefined {
    return this.#queue.find(({ message }) => message.messageId === messageId);
  }

  /** Returns whether this is the current task or a known earlier task. Clients can resume in such a task. */
  leads(taskId: string): boolean {
    return taskId === this.#task.id || this.#former.includes(taskId);
  }

  /**
   * Waits until `taskId` is no longer the current task. Returns the id of the task that followed it, or of the current
   * task if `taskId` is unknown. Returns undefined if the conversation has ended.
   */
  async taskAfter(taskId: string): Promise<string | undefined> {
    while (!this.closed && this.#task.id === taskId) await this.#renewed.promise;
    if (this.closed) return undefined;
    const index = this.#former.indexOf(taskId);
    return (index < 0 ? undefined : this.#former[index + 1]) ?? this.#task.id;
  }

  /**
   * Starts a turn, or queues the prompt until the running turn ends. While the turn waits for an answer, a prompt with
   * `runsBeside` is sent at once. A prompt with `mayAnswer` is sent as an answer if all open questions accept text.
   */
  async prompt(prompt: Prompt): Promise<TakenPrompt> {
    this.#check();
    const { messageId } = prompt.message;
    const earlier = this.#heard.get(messageId);
    if (earlier) {
      // The handler finds the earlier message, and refuses a message with the same id and other content.
      await this.#send(prompt, earlier.taskId);
      return { queued: false, taskId: earlier.taskId };
    }
    const same = this.#queued(messageId);
    if (same) {
      checkSame(same.message, prompt.message);
      return { ...this.#taken(true), forgotten: same.forgotten.promise };
    }
    checkRoom(this.#queue);
    const answers = prompt.mayAnswer && this.#waitsForWords();
    if (this.#state === 'waiting' && (answers || prompt.runsBeside === true)) {
      try {
        await this.#send(prompt, this.#task.id);
        return this.#taken(false);
      } catch (error) {
        if (!isRefusedAsBusy(error)) throw error;
      }
    }
    const waiting: WaitingPrompt = { ...prompt, forgotten: Promise.withResolvers() };
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

  /**
   * Sends an answer. Sends it again if the agent refuses it only because the turn is changing its state. Throws the
   * agent's other errors. An answer with `inWords` does not name its question, so it must not reach a later question:
   * if there is a new question, or if the turn no longer waits, throws `alreadyAnswered` instead of sending it again.
   */
  async answer(answer: Sendable, { inWords = false } = {}): Promise<void> {
    this.#check();
    const same = this.#queued(answer.message.messageId);
    if (same) checkSame(same.message, answer.message);
    const { id } = this.#task;
    const open = new Set(this.#openRequests());
    for (let tries = 1; ; tries++) {
      const seen = this.#seq;
      try {
        await this.#send(answer, id);
        return;
      } catch (error) {
        const over = this.closed || this.#task.id !== id || tries >= ANSWER_TRIES;
        if (over || !isRefusedAsBusy(error)) throw error;
        // The turn is changing its state and will accept answers again shortly.
        if (this.#seq === seen) await this.#movement();
        if (inWords && !(await this.#stillAsks(open))) throw alreadyAnswered(id);
      }
    }
  }

  #openRequests(): string[] {
    return this.#waiting.calls.map(requestId);
  }

  /**
   * Waits while the turn is running and a question in `before` is still open. Then returns whether the turn waits for
   * answers and all its open questions are in `before`.
   */
  async #stillAsks(before: ReadonlySet<string>): Promise<boolean> {
    const mayAskAgain = () => this.#openRequests().some((each) => before.has(each));
    while (!this.closed && this.#state === 'busy' && mayAskAgain()) await this.#moved.promise;
    return this.#state === 'waiting' && this.#openRequests().every((each) => before.has(each));
  }

  /** Cancels the turn. Drops the queued prompts, unless `keepQueue` is true. Returns false if no turn was running. */
  async cancel(call: Call, { keepQueue = false } = {}): Promise<boolean> {
    this.#check();
    // A prompt that is being sent may start a turn. The code below cancels this turn.
    if (!keepQueue) this.drop(() => true);
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

  /**
   * Drops the unwanted queued prompts. A prompt that is being sent stays in the queue for now. It is dropped if this
   * attempt to send it fails. Returns whether a prompt was dropped at once.
   */
  drop(unwanted: (prompt: WaitingPrompt) => boolean): boolean {
    const dropped = this.#queue.filter(unwanted);
    for (const each of dropped) each.dropped = true;
    const gone = dropped.filter((each) => each !== this.#attempted);
    this.#forget(gone);
    return gone.length > 0;
  }

  #forget(dropped: readonly WaitingPrompt[]): void {
    for (const each of dropped) {
      this.#queue.splice(this.#queue.indexOf(each), 1);
      each.forgotten.resolve(droppedError(this.#task.id));
    }
    if (dropped.length > 0) this.#options.onQueue();
  }

  close(): void {
    if (this.closed) return;
    this.#ending.abort();
    this.#options.live.delete(this.#task.id);
    this.#stream?.close();
    for (const { tried, forgotten } of this.#queue.splice(0)) {
      tried?.({ error: overError() });
      forgotten.resolve(overError());
    }
    this.#renewed.resolve();
    this.#move();
    this.#options.onClose();
  }

  #check(): void {
    if (this.closed) throw overError();
  }

  #taken(queued: boolean): TakenPrompt {
    return { queued, taskId: this.#task.id };
  }

  #waitsForWords(): boolean {
    return this.#waiting.calls.every((call) => hasOption(call, 'answer'));
  }

  #send({ message, configuration, metadata, call }: Sendable, taskId: string): Promise<SendResult> {
    const { contextId } = this.#task;
    return this.#options.handler.sendMessage(
      {
        message: { ...message, taskId, contextId },
        configuration: { ...configuration, blocking: false, historyLength: 0 },
        ...(metadata && { metadata }),
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

  async #sendFirst(next: WaitingPrompt): Promise<void> {
    const { onQueue, logger } = this.#options;
    const { id } = this.#task;
    const seen = this.#seq;
    const { tried } = next;
    /** Returns whether the conversation has received no event since the message was sent. */
    const still = () => this.#task.id === id && this.#seq === seen;
    // The state is set before the log confirms the turn, so that no other prompt is sent.
    this.#state = 'busy';
    this.#attempted = next;
    try {
      const sent = await this.#send(next, id);
      if (sent.kind === 'task' && sent.id !== id) {
        // The message was already sent, in a task that this process has not read.
        this.#heard.add(next.message.messageId, sent);
        this.#move();
      }
      // A repeated message starts no turn, so no event will change the state.
      if (still() && sent.kind === 'task') this.#state = turnState(sent);
      tried?.({});
    } catch (error) {
      this.#attempted = undefined;
      if (still()) this.#state = 'idle';
      const retries = isRefusedAsBusy(error) || (!tried && isUnavailable(error));
      if (retries && !next.dropped) {
        // Another turn is running, or the server is full. The prompt stays first in the queue.
        next.tried = undefined;
        tried?.({ queued: true });
        onQueue();
        if (still()) await this.#movement();
        return;
      }
      const reason = retries ? droppedError(id) : error;
      tried?.({ error: reason });
      const from = next.shown.from;
      if (!tried && !retries) logger.warn({ err: error, from }, 'a queued prompt was refused');
      next.forgotten.resolve(reason instanceof A2AError ? reason : new A2AError('internal'));
    }
    this.#attempted = undefined;
    if (this.#queue[0] === next) this.#queue.shift();
    if (!tried) onQueue();
  }

  /** Waits for the next event, with a timeout. */
  async #movement(): Promise<void> {
    await waitAtMost(MOVEMENT_MS, this.#moved.promise);
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
    this.#heard.take(event, seq);
    if (event.kind === 'status-update') {
      // Only events with data and the end of a turn change the waiting calls. Most other events are text.
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
    await rest(STORE_WAIT_MS, this.#ending.signal);
    await this.#watchSoon(this.#seq);
  }

  /** Like `#watch`, but while the store is unavailable, tries again. */
  async #watchSoon(after: number): Promise<void> {
    while (!this.closed) {
      try {
        return await this.#watch(after);
      } catch (error) {
        if (!mayRetry(error)) throw error;
      }
      await rest(STORE_WAIT_MS, this.#ending.signal);
    }
  }

  async #renew(): Promise<void> {
    const { id: before, contextId } = this.#task;
    const { live } = this.#options;
    const task = await reserveNextTask(this.#options, contextId, this.#ending.signal);
    live.delete(before);
    if (!task || this.closed) return;
    live.add(task.id);
    this.#former = [...this.#former, before].slice(-MAX_FORMER);
    this.#task = task;
    this.#seq = 0;
    this.#state = 'idle';
    const { resolve } = this.#renewed;
    this.#renewed = Promise.withResolvers();
    resolve();
    await this.#watchSoon(0);
  }
}
