/** The API of one client of a live session. Checks the client's roles. */
import { randomUUIDv7 } from 'node:crypto';
import type {
  LiveClient,
  LiveItem,
  LiveRole,
  LiveSession,
  QueuedPrompt,
  TakenPrompt,
} from './client/session.ts';
import { LiveFeed } from './client/feed.ts';
import { userMessage } from './client/user-message.ts';
import {
  EXTENSION_URI,
  type ExecuteSlashCommandRequest,
  type ExecuteSlashCommandResponse,
  extensionMetadata,
  type GetAllSlashCommandsRequest,
  type SlashCommand,
  settingsIn,
  type ToolCallConfirmation,
} from '../protocol/development-tool/index.ts';
import {
  A2AError,
  EXECUTION_PREFIX,
  QUEUED_KEY,
  textOf,
  type Call,
  type Message,
  type MessageSendParams,
  type Metadata,
  type Part,
  type Task,
  type TaskIdParams,
  type TaskQueryParams,
  type User,
} from '../protocol/index.ts';
import {
  answersCalls,
  beginning,
  type Coder,
  confirmationsIn,
  notStarted,
  requirePromptRoles,
  requireRole,
  runsBesideQuestion,
  type LiveUser,
} from '../coder/index.ts';
import type { ReserveParams } from '../tasks/index.ts';
import type { Conversation } from './conversation.ts';
import type { Heard } from './heard-messages.ts';
import { streamTurn, submitted, turnTask } from './turns.ts';
import {
  SessionReader,
  type Followed,
  type LiveSink,
  type Presence,
  type Resume,
} from './session-reader.ts';

/** Maximum number of buffered items per iterator. */
const BUFFER = 64;
/** Maximum number of characters of a queued prompt that other clients see. */
const SHOWN_CHARS = 500;
/** The key in a request's metadata that marks the message as a prompt, which is never used as an answer. */
const PROMPT_KEY = 'parley.prompt';
/** The key in the metadata of a cancel request. If its value is true, the queued prompts are kept. */
const KEEP_QUEUE_KEY = 'parley.keepQueue';

/** The state of a command that was dropped from the queue. */
const CANCELED = { state: 'canceled' } as const;

export interface MemberOptions {
  readonly followed: Followed;
  readonly conversation: Conversation;
  readonly coder: Pick<Coder, 'commands' | 'requireRoles' | 'workspaces'>;
  /** The folder of the session. */
  readonly workspace: string;
  /** The user that the session belongs to. */
  readonly owner?: User | undefined;
  /** The id of the client's editor. */
  readonly editor?: string | undefined;
  readonly clients: () => readonly LiveClient[];
  /** Removes a client of the session, by its id or the id of its token. */
  readonly revoke: (client: string) => Promise<void>;
  /** The id of the client's token. */
  readonly token?: string | undefined;
  /** Closes the client's connection. Undefined if the client has no permanent connection. */
  readonly disconnect?: (() => void) | undefined;
  /** Returns the paths in the workspace that start with the prefix. */
  readonly files?: ((prefix: string) => Promise<readonly string[]>) | undefined;
  /** Called once, when the client leaves. */
  readonly onLeave: (member: Member) => void;
}

export class Member implements LiveSession {
  readonly self: LiveClient;
  readonly #options: MemberOptions;
  readonly #readers = new Set<SessionReader>();
  /** The call context of this client's requests. */
  readonly call: Call;
  #left = false;

  constructor(self: LiveClient, options: MemberOptions) {
    this.self = self;
    this.#options = options;
    // All clients of the session have the same, empty user id.
    const { id: client, name, kind, roles } = self;
    const { editor, token } = options;
    const user: LiveUser = {
      id: '',
      client,
      name,
      kind,
      roles,
      ...(editor !== undefined && { editor }),
      ...(token !== undefined && { token }),
    };
    this.call = { user, extensions: [EXTENSION_URI] };
  }

  /** Whether the client has left the session. */
  get left(): boolean {
    return this.#left;
  }

  get token(): string | undefined {
    return this.#options.token;
  }

  get disconnect(): (() => void) | undefined {
    return this.#options.disconnect;
  }

  /** Throws if the client has left or lacks the role. */
  require(role: LiveRole): void {
    if (this.#left) throw new A2AError('unavailable', 'This client has left the live session');
    requireRole(this.call.user, role);
  }

  /** Starts to send the items of the session to a sink, until `unfollow` is called or the client leaves. */
  follow(sink: LiveSink, resume?: Resume): SessionReader {
    this.require('view');
    const reader = new SessionReader(this.#options.followed, sink, resume);
    this.#readers.add(reader);
    return reader;
  }

  unfollow(reader: SessionReader): void {
    reader.close();
    this.#readers.delete(reader);
  }

  /** Passes the presence to the readers of this client. */
  announce(presence: Presence): void {
    for (const reader of this.#readers) reader.presence(presence);
  }

  items(options: { after?: number; signal?: AbortSignal } = {}): AsyncIterable<LiveItem> {
    const { after, signal } = options;
    return { [Symbol.asyncIterator]: () => this.#iterate(after, signal) };
  }

  #iterate(after: number | undefined, signal: AbortSignal | undefined): LiveFeed {
    const feed = new LiveFeed({
      limit: BUFFER,
      onEmpty: () => reader.resume(),
      onLeave: () => this.unfollow(reader),
    });
    const reader = this.follow(
      {
        snapshot: (snapshot) => feed.give({ kind: 'snapshot', snapshot }),
        event: (taskId, { event, seq = 0 }) => feed.give({ kind: 'event', taskId, seq, event }),
        presence: (presence) => void feed.give({ kind: 'presence', ...presence }),
        end: () => feed.end(),
      },
      after === undefined ? undefined : { after },
    );
    feed.closeOn(signal);
    return feed;
  }

  prompt(content: string | readonly Part[]): Promise<TakenPrompt> {
    return this.send({ message: userMessage(content) });
  }

  /**
   * Sends a message, which is either a prompt or contains answers to questions. `http` is the call context of a request
   * over HTTP, or undefined for any other client.
   *
   * An HTTP client may have received a question only in words. So while the task waits, its message is an answer in
   * these cases too:
   *
   * - The message names the session's task.
   * - The message names only the context, the client may approve, a client of the same kind and name started the turn,
   *   and the text clearly answers the waiting calls (`answersCalls`).
   */
  async send(params: MessageSendParams, http?: Call): Promise<TakenPrompt> {
    const { conversation, coder } = this.#options;
    const { message } = params;
    const call = http ?? this.call;
    this.require('view');
    if (message.role !== 'user') {
      throw new A2AError('invalidParams', 'message.role: must be "user"');
    }
    this.checkPlace({ ...message, tenant: params.tenant });
    const isNew = !conversation.knows(message.messageId);
    const answers =
      http &&
      isNew &&
      (message.taskId === undefined ? this.#answersByContext(message) : conversation.isWaiting);
    coder.requireRoles(message, call.user, answers);
    const inWords = confirmationsIn(message).length === 0;
    if (answers || !inWords) {
      await conversation.answer({ ...params, call }, { inWords });
      return { queued: false, taskId: conversation.task.id };
    }
    // The executor checks the settings too. The check here refuses a prompt with other settings before it is queued.
    await this.#checkSettings(message.metadata);
    // The token of the client may have been revoked in the meantime.
    this.require('view');
    const text = textOf(message.parts).slice(0, SHOWN_CHARS);
    const shown: QueuedPrompt = { text, from: this.self.name };
    // Here, the text of an HTTP client is never an answer, because new answers of HTTP clients were sent above. Text
    // from the terminal or `parley attach` is never an answer either, because it may have been typed before the
    // question appeared. The terminal and `parley attach` send answers with `confirm`.
    const { kind, roles } = this.self;
    const isPrompt = kind === 'terminal' || params.metadata?.[PROMPT_KEY] === true;
    const mayAnswer = !http && !isPrompt && roles.includes('approve');
    const runsBeside = kind === 'terminal' && runsBesideQuestion(message);
    return conversation.prompt({ ...params, call, shown, mayAnswer, runsBeside });
  }

  #answersByContext(message: Message): boolean {
    if (message.contextId === undefined || !this.self.roles.includes('approve')) return false;
    return answersCalls(message, this.#options.conversation.callsFor(this.self));
  }

  /** Throws if the ids do not belong to this session. `taskId` may also be an execution id of the current task. */
  checkPlace(
    place: Pick<MessageSendParams, 'tenant'> & Pick<Message, 'taskId' | 'contextId'>,
  ): void {
    const { conversation } = this.#options;
    const { id: taskId, contextId } = conversation.task;
    const isOurs =
      (place.taskId === undefined ||
        place.taskId === taskId ||
        this.#execution(place.taskId)?.taskId === taskId) &&
      (place.contextId === undefined || place.contextId === contextId) &&
      (place.tenant === undefined || place.tenant === '');
    if (isOurs) return;
    const text = `All messages here go to the live session: its task is ${taskId}, its context is ${contextId}. Use these ids, or omit them.`;
    throw new A2AError('unsupportedOperation', text, { info: { taskId, contextId } });
  }

  /** Throws if the settings differ from the settings of the session. */
  async #checkSettings(metadata: Metadata | undefined): Promise<void> {
    if (!settingsIn(metadata)) return;
    const { conversation, coder, owner: user } = this.#options;
    const { task } = conversation;
    const owner = { user, tenant: '', contextId: task.contextId };
    const place = { task, isOwn: true, isReservation: true };
    await coder.workspaces.check(metadata, owner, place);
  }

  /** Returns the session's task instead of reserving a new task, because all messages belong to the session's task. */
  async reserveTask({ contextId, metadata, tenant }: ReserveParams, call: Call): Promise<Task> {
    requirePromptRoles(metadata, call.user);
    this.checkPlace({ contextId, tenant });
    await this.#checkSettings(metadata);
    const { followed, conversation } = this.#options;
    return followed.handler.getTask({ id: conversation.task.id, historyLength: 0 }, call);
  }

  /** Returns whether this is the execution id of a command that is queued or in the log. */
  isExecution(id: string): boolean {
    return id.startsWith(EXECUTION_PREFIX) && this.#options.conversation.knows(id);
  }

  /** Waits until the message is in the log. Throws if it is dropped from the queue, or if the session ends. */
  heard(messageId: string): Promise<Heard> {
    return this.#options.conversation.heard(messageId);
  }

  /** Returns the session's task without its messages, in the state `submitted`. */
  sessionTask(): Task {
    const { id, contextId } = this.#options.conversation.task;
    return submitted(id, contextId);
  }

  /**
   * Returns the task as the response to a queued prompt. Its state is that of the prompt, and not that of the running
   * turn, which another client may have started.
   */
  queuedTask(): Task {
    return { ...this.sessionTask(), metadata: { [QUEUED_KEY]: true } };
  }

  /** Returns a task, or the turn of a command by its execution id. */
  async getTask(params: TaskQueryParams, call: Call = this.call): Promise<Task> {
    this.require('view');
    const { handler } = this.#options.followed;
    const { id, historyLength } = params;
    const heard = this.#execution(id);
    if (heard) return turnTask(handler, heard, call, historyLength);
    return this.isExecution(id) ? this.queuedTask() : handler.getTask(params, call);
  }

  /** Returns the position of the execution in the log, or undefined if there is no such execution or it is queued. */
  #execution(id: string): Heard | undefined {
    return this.isExecution(id) ? this.#options.conversation.position(id) : undefined;
  }

  /**
   * Cancels a task of the session, or drops a queued command by its execution id. With the id of the current task, or
   * the execution id of its running turn, cancels the turn.
   */
  async cancelTask(params: TaskIdParams, call: Call = this.call): Promise<Task> {
    this.require('prompt');
    const { followed, conversation } = this.#options;
    const { handler } = followed;
    const { id } = params;
    const heard = this.#execution(id);
    const taskId = heard?.taskId ?? id;
    const isQueued = !heard && this.isExecution(id);
    if (isQueued && conversation.drop(({ message }) => message.messageId === id)) {
      return { ...this.sessionTask(), status: CANCELED };
    }
    if (taskId !== conversation.task.id) {
      // The task may belong to another session in the same store, whose terminal would not show the cancellation.
      if (!conversation.leads(taskId)) await this.#refuseOther(taskId, call);
      return handler.cancelTask({ ...params, id: taskId }, call);
    }
    const keepQueue = params.metadata?.[KEEP_QUEUE_KEY] === true;
    if (heard?.at?.turn.last !== undefined || !(await this.stop({ keepQueue }))) {
      throw new A2AError('taskNotCancelable', 'No turn is running', { info: { taskId } });
    }
    return handler.getTask({ id: taskId, historyLength: 0 }, call);
  }

  /**
   * Throws `taskNotFound` if the task does not exist. Otherwise throws `taskNotCancelable`, because the task does not
   * belong to this session.
   */
  async #refuseOther(taskId: string, call: Call): Promise<never> {
    await this.#options.followed.handler.getTask({ id: taskId, historyLength: 0 }, call);
    const text = 'The task does not belong to this live session, so it can only be read';
    throw new A2AError('taskNotCancelable', text, { info: { taskId } });
  }

  async confirm(confirmation: ToolCallConfirmation): Promise<void> {
    await this.send({ message: userMessage([{ kind: 'data', data: { ...confirmation } }]) });
  }

  async cancel(options?: { readonly keepQueue?: boolean }): Promise<void> {
    await this.stop(options);
  }

  /** Cancels the running turn, like `cancel`. Returns whether a turn was running. */
  async stop(options?: { readonly keepQueue?: boolean }): Promise<boolean> {
    this.require('prompt');
    return this.#options.conversation.cancel(this.call, options);
  }

  /** Returns the commands of the session's workspace. Throws if the request names another session or workspace. */
  async commands(place: GetAllSlashCommandsRequest = {}): Promise<SlashCommand[]> {
    this.require('view');
    return this.#options.coder.commands.list(await this.#commandPlace(place));
  }

  /**
   * Returns paths in the workspace. Requires the role `prompt`. The paths are not secret for a client with this role,
   * because it can also ask the agent for them.
   */
  async files(prefix: string): Promise<readonly string[]> {
    this.require('prompt');
    return (await this.#options.files?.(prefix)) ?? [];
  }

  async models(): Promise<readonly string[]> {
    this.require('view');
    return this.#options.coder.workspaces.modelNames.choices;
  }

  async #commandPlace({ contextId, workspace_path }: GetAllSlashCommandsRequest) {
    const { conversation, workspace } = this.#options;
    if (contextId !== undefined && contextId !== conversation.task.contextId) {
      throw new A2AError('invalidParams', 'contextId: must be the context of this live session');
    }
    if (workspace_path !== undefined) {
      await this.#checkSettings(extensionMetadata({ workspace_path }));
    }
    const { mcpServers } = settingsIn(conversation.task.metadata) ?? {};
    return { workspace_path: workspace, mcpServers };
  }

  /**
   * Runs a command as a turn of the session, so that all clients see its result. The execution id is the id of the
   * message that starts the turn.
   */
  async execute(request: ExecuteSlashCommandRequest): Promise<ExecuteSlashCommandResponse> {
    this.require('prompt');
    const { followed, coder } = this.#options;
    const { command_path, args } = request;
    const place = await this.#commandPlace(request);
    const found = await coder.commands.find({ command_path, args, ...place }, this.call);
    if (found.kind === 'problem') return notStarted(found.problem);
    const execution_id = `${EXECUTION_PREFIX}${randomUUIDv7()}`;
    const message = userMessage(found.text, execution_id);
    const { queued } = await this.send({ message });
    if (queued) {
      const waits = 'The command is queued and starts when the running turn ends.';
      return { execution_id, status: 'STARTED', message: waits };
    }
    const heard = await this.heard(execution_id);
    if (!found.mayAsk) return { execution_id, status: 'STARTED' };
    const stream = await streamTurn(followed.handler, heard, this.call);
    try {
      const { status } = await beginning(stream, true);
      return { execution_id, status };
    } finally {
      stream.close();
    }
  }

  async clients(): Promise<readonly LiveClient[]> {
    this.require('view');
    return this.#options.clients();
  }

  async revoke(client: string): Promise<void> {
    this.require('view');
    // Every client may sign itself out.
    if (client !== this.self.id && client !== this.token) {
      this.require('prompt');
      this.require('approve');
    }
    await this.#options.revoke(client);
  }

  async close(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    for (const reader of this.#readers) reader.close();
    this.#readers.clear();
    this.#options.onLeave(this);
  }
}
