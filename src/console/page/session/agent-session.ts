/**
 * Presents a conversation with an A2A agent as a live session with one client, which is this page. So the page shows a
 * conversation with any agent in the same way as a live session. To the agent, the page is an ordinary A2A client: it
 * sends messages and follows tasks.
 */
import { reasonOf } from '../../../base/index.ts';
import { connect, type AgentClient, type AgentStream } from '../../../client/index.ts';
import { LiveFeed, type LiveItem, type LiveSession } from '../../../live/client/index.ts';
import {
  GetAllSlashCommandsResponse,
  type SlashCommand,
} from '../../../protocol/development-tool/index.ts';
import {
  A2AError,
  uuidv7,
  type Message,
  type Part,
  type StreamEvent,
  type Task,
} from '../../../protocol/index.ts';
import { isTerminal } from '../../../protocol/schema-free/index.ts';
import { EXTENSIONS, headersOf } from '../server/server.ts';
import { OwnSession } from './own-session.ts';
import { TaskItems } from './task-items.ts';

/** The number of unread items at which the feed reports that it is full. This session ignores the report. */
const MAX_WAITING = 4096;

export interface AgentSessionOptions {
  readonly token: string | undefined;
  readonly name: string;
  /** The id of the last task that this tab has shown, or undefined for a new conversation. */
  readonly taskId: string | undefined;
  /** Called with the task's id when the page shows a task: the first task, and each later task of the conversation. */
  readonly onTask: (taskId: string) => void;
}

/**
 * Connects to the agent at this address, and shows the task `taskId`. If the task does not exist, a new conversation
 * starts. Throws A2AError `unauthenticated` if the agent requires another token.
 */
export async function openAgentSession(
  url: string,
  options: AgentSessionOptions,
): Promise<LiveSession> {
  const { token, taskId } = options;
  const headers = headersOf(token);
  const client = await connect(url, { headers });
  const session = new AgentSession(client, url, headers, options);
  // Checks that the agent accepts the token.
  await client.list({ pageSize: 1 }, { extensions: EXTENSIONS });
  session.begin(taskId === undefined ? undefined : await taskIfFound(client, taskId));
  return session;
}

async function taskIfFound(client: AgentClient, id: string): Promise<Task | undefined> {
  return client.get(id, { extensions: EXTENSIONS }).catch((error: unknown) => {
    if (error instanceof A2AError && error.kind === 'taskNotFound') return undefined;
    throw error;
  });
}

/** The empty task that is shown before the first message. */
const NO_TASK: Task = { kind: 'task', id: '', contextId: '', status: { state: 'unknown' } };

class AgentSession extends OwnSession implements LiveSession {
  readonly #client: AgentClient;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #options: AgentSessionOptions;
  readonly #feed = new LiveFeed({ limit: MAX_WAITING, onEmpty: () => undefined });
  readonly #items: TaskItems;
  /** The current task. Undefined before the first answer to a new conversation, and after an answer with a Message. */
  #task: Task | undefined;
  /** The context of the conversation. Undefined until the agent has sent one. */
  #contextId: string | undefined;
  #seq = 0;

  constructor(
    client: AgentClient,
    url: string,
    headers: Readonly<Record<string, string>>,
    options: AgentSessionOptions,
  ) {
    super(options.name, ['view', 'prompt', 'approve']);
    this.#client = client;
    this.#url = url;
    this.#headers = headers;
    this.#options = options;
    this.#items = new TaskItems(this.self, client.card.name);
  }

  /** Shows the task, and follows it unless it has ended or waits for input. Without a task, shows an empty session. */
  begin(task: Task | undefined): void {
    if (!task) return this.#draw(NO_TASK);
    this.#show(task);
    this.#add(task);
    const waits = isTerminal(task.status.state) || task.status.state === 'input-required';
    if (!waits) void this.#follow(this.#client.resubscribe(task.id, { extensions: EXTENSIONS }));
  }

  items(): AsyncIterable<LiveItem> {
    return this.#feed;
  }

  async cancel(): Promise<void> {
    if (this.#task) await this.#client.cancel(this.#task.id, { extensions: EXTENSIONS });
  }

  async commands(): Promise<readonly SlashCommand[]> {
    const response = await fetch(`${this.#url}/commands`, {
      headers: this.#headers,
      credentials: 'omit',
    });
    // Only the coding agent has commands.
    if (!response.ok) return [];
    return GetAllSlashCommandsResponse.parse(await response.json()).commands;
  }

  async close(): Promise<void> {
    this.#client.close();
    this.#feed.end();
  }

  /**
   * Sends a message to the current task. If the task has ended or there is none, the message starts a new task in the
   * same context. Resolves with the task's id, or with an empty string if the agent answers with a Message.
   */
  protected async send(parts: Part[]): Promise<string> {
    const { id, status } = this.#task ?? {};
    const taskId = status && !isTerminal(status.state) ? id : undefined;
    const message: Message = { kind: 'message', messageId: uuidv7(), role: 'user', parts };
    const to = { taskId, contextId: this.#contextId };
    const stream = this.#client.stream(message, { ...to, extensions: EXTENSIONS });
    return this.#follow(stream, message);
  }

  /**
   * Reads a stream in the background. Resolves after the first event, with the id of the task, or with an empty string
   * if the event is a Message. Rejects if the stream fails before its first event.
   */
  #follow(stream: AgentStream, sent?: Message): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const read = async () => {
      this.#items.restart();
      for await (const { event } of stream) {
        this.#take(event, sent);
        this.#add(event);
        this.#task = stream.task ?? this.#task;
        resolve(this.#task?.id ?? '');
      }
    };
    read().catch((error: unknown) => {
      reject(error instanceof Error ? error : new Error(reasonOf(error)));
      if (this.#task) this.#lost(this.#task, reasonOf(error));
    });
    promise.catch(() => undefined);
    return promise;
  }

  #take(event: StreamEvent, sent: Message | undefined): void {
    if (event.kind === 'message') {
      this.#task = undefined;
      this.#contextId = event.contextId ?? this.#contextId;
      const { messageId: id } = event;
      const history = sent ? [sent, event] : [event];
      // The page shows only tasks, so the Message becomes the last message of a completed task. This task exists only
      // on the page.
      const shown = { history, status: { state: 'completed' } } as const;
      this.#draw({ kind: 'task', id, contextId: this.#contextId ?? '', ...shown });
    } else if (event.kind === 'task') {
      const { history = [] } = event;
      this.#show(history.length > 0 || !sent ? event : { ...event, history: [sent] });
    } else if (event.kind === 'status-update') {
      if (event.taskId !== this.#task?.id) return;
      this.#give(event);
    }
  }

  /** Makes the task the current task, and shows it. */
  #show(task: Task): void {
    this.#options.onTask(task.id);
    this.#task = task;
    this.#contextId = task.contextId;
    this.#draw(task);
  }

  #draw(task: Task): void {
    this.#feed.give(this.#items.snapshot(task, this.#seq));
  }

  /** Shows what an event adds to the artifacts. Ignores a Message, because `#take` has already shown it. */
  #add(event: StreamEvent): void {
    const added = event.kind === 'message' ? undefined : this.#items.addedBy(event, uuidv7());
    if (added) this.#give(added);
  }

  #lost(task: Task, reason: string): void {
    const text = `The connection to the agent was lost: ${reason}. Load the page again to continue.`;
    const message: Message = {
      kind: 'message',
      messageId: uuidv7(),
      role: 'agent',
      parts: [{ kind: 'text', text }],
    };
    const { id: taskId, contextId } = task;
    const status = { state: 'failed', message } as const;
    this.#give({ kind: 'status-update', taskId, contextId, status, final: true });
  }

  #give(event: StreamEvent): void {
    this.#seq += 1;
    this.#feed.give({ kind: 'event', taskId: this.#task?.id ?? '', seq: this.#seq, event });
  }
}
