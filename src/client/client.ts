/**
 * The client, which offers the operations of an agent as short methods.
 *
 *   const agent = await connect('http://localhost:4000');
 *   console.log(await agent.send('hello there').text());
 *   for await (const { event } of agent.stream('and now slowly')) console.log(event);
 */
import { defined } from '../base/index.ts';
import {
  type AgentCard,
  type AgentService,
  type Call,
  type ListTasksParams,
  type ListTasksResult,
  type Message,
  type MessageSendConfiguration,
  type MessageSendParams,
  type Metadata,
  type Part,
  type PushNotificationConfig,
  type SendResult,
  type Task,
  type TaskPushNotificationConfig,
  uuidv7,
} from '../protocol/index.ts';
import type { FollowOptions } from './follow/follower.ts';
import { ConnectionError } from './connection/errors.ts';
import { Lifetime } from './connection/request.ts';
import type { RetryOptions } from './follow/retry.ts';
import { AgentStream } from './stream.ts';
import { successfulText } from './text.ts';

/** A text, the parts of a message, or a message. A message without an id gets a new id. */
export type Input = string | readonly Part[] | (Partial<Message> & { readonly parts: Part[] });

/** The options of every call. */
export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** URIs of extensions to activate, in addition to those of the connection. */
  readonly extensions?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The options of `send`. */
export interface SendOptions extends CallOptions {
  /** The id of the task that the message is for. Without it, the agent starts a new task or answers directly. */
  readonly taskId?: string | undefined;
  /** The id of the conversation that the message belongs to. */
  readonly contextId?: string | undefined;
  /** Metadata that is added to the message's own metadata. */
  readonly metadata?: Metadata | undefined;
  readonly configuration?: MessageSendConfiguration | undefined;
}

/** Options for streams that continue after their connection breaks. */
export interface FollowingOptions extends CallOptions {
  readonly retry?: RetryOptions | undefined;
  /**
   * Whether to fetch the task repeatedly when its events are unavailable, for example because the agent does not
   * stream. Default: false.
   */
  readonly polls?: boolean | undefined;
}

/** The options of `stream`. */
export interface StreamOptions extends SendOptions, FollowingOptions {
  /**
   * Whether to send the message again, with the same id, if the connection breaks before the first event. Use it only
   * for agents that recognize a repeated message by its id, as Parley's agents do. Other agents may do the work twice.
   * A function can decide this for each error.
   */
  readonly retrySend?: boolean | ((error: ConnectionError) => boolean) | undefined;
}

/** The options of `resubscribe`. */
export interface ResubscribeOptions extends FollowingOptions {
  /** The sequence number of the last event that the caller has received. The stream continues after this event. */
  readonly after?: number | undefined;
}

/** The result of a message: a promise with a method for its text. */
export interface PendingResult extends Promise<SendResult> {
  /**
   * Returns the text of the message or of the task's artifacts. If the task waits for the user, its question follows.
   * If the artifacts have no text, returns the text of the task's status, or else the texts that the agent sent while
   * it worked. Rejects with a TaskFailedError if the task has failed, was rejected or was canceled.
   */
  text(): Promise<string>;
}

/**
 * A connection to an agent.
 *
 *   const task = await agent.send('Hello');
 *   for await (const { event } of agent.stream('Hello')) console.log(event);
 */
export interface AgentClient extends AsyncDisposable {
  readonly card: AgentCard;
  /** The operations as the protocol defines them. */
  readonly service: AgentService;
  /** Sends a message. Waits until the agent finishes or asks for input, unless `configuration.blocking` is false. */
  send(input: Input, options?: SendOptions): PendingResult;
  /** Sends a message and returns the events as they arrive. Reconnects after a broken connection. */
  stream(input: Input, options?: StreamOptions): AgentStream;
  /**
   * Returns the events of an existing task. Reconnects after a broken connection. If the task has ended or asks for
   * input, the stream ends when the agent closes the connection.
   */
  resubscribe(taskId: string, options?: ResubscribeOptions): AgentStream;
  get(taskId: string, options?: CallOptions & { historyLength?: number }): Promise<Task>;
  /** Returns one page of tasks, newest first. */
  list(params?: ListTasksParams, options?: CallOptions): Promise<ListTasksResult>;
  /** Returns all tasks. Fetches them page by page. */
  listAll(params?: ListTasksParams, options?: CallOptions): AsyncIterable<Task>;
  cancel(taskId: string, options?: CallOptions & { metadata?: Metadata }): Promise<Task>;
  setPushConfig(
    taskId: string,
    config: PushNotificationConfig,
    options?: CallOptions,
  ): Promise<TaskPushNotificationConfig>;
  /** Returns a push configuration. Without an id, returns the task's first configuration. Rejects if there is none. */
  getPushConfig(
    taskId: string,
    configId?: string,
    options?: CallOptions,
  ): Promise<TaskPushNotificationConfig>;
  listPushConfigs(taskId: string, options?: CallOptions): Promise<TaskPushNotificationConfig[]>;
  deletePushConfig(taskId: string, configId: string, options?: CallOptions): Promise<void>;
  /** Returns the agent's extended card. */
  extendedCard(options?: CallOptions): Promise<AgentCard>;
  /** Ends all calls and streams, and refuses new calls. The agent continues its work. */
  close(): void;
}

/** The options of `createClient`. */
export interface ClientOptions {
  readonly card: AgentCard;
  readonly retry?: RetryOptions | undefined;
  /** Signal that closes the client when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes a client for a service, which may be a remote agent or an agent in the same process.
 *
 *   const agent = createClient(handler, { card });
 */
export function createClient(service: AgentService, options: ClientOptions): AgentClient {
  const { card, retry } = options;
  const life = new Lifetime([options.signal]);

  /** Runs a unary call. The call is aborted by its own signal, or when the client is closed. */
  async function run<T>(
    { headers, extensions, signal }: CallOptions,
    operation: (call: Call) => Promise<T>,
  ): Promise<T> {
    life.signal.throwIfAborted();
    const own = new Lifetime([life.signal, signal]);
    try {
      return await operation({ headers, extensions, signal: own.signal });
    } finally {
      own.release();
    }
  }

  function follow(from: FollowOptions['from'], options: FollowingOptions): AgentStream {
    const { headers, extensions, signal, polls } = options;
    const call = { headers, extensions };
    const streams = card.capabilities.streaming === true;
    const start = { service, call, streams, from, polls, retry: { ...retry, ...options.retry } };
    return new AgentStream(start, [life.signal, signal]);
  }

  const client: AgentClient = {
    card,
    service,

    send(input, options = {}) {
      // `blocking` is set explicitly, because servers have different defaults.
      const configuration = { blocking: true, ...options.configuration };
      const params = toParams(input, { ...options, configuration });
      const answer = run(options, (call) => service.sendMessage(params, call));
      return Object.assign(answer, { text: () => answer.then(successfulText) });
    },

    stream(input, { retrySend = false, ...options } = {}) {
      const resend = typeof retrySend === 'function' ? retrySend : () => retrySend;
      return follow({ params: toParams(input, options), resend }, options);
    },

    resubscribe: (taskId, { after, ...options } = {}) => follow({ taskId, after }, options),

    get: (id, { historyLength, ...options } = {}) =>
      run(options, (call) => service.getTask({ id, ...defined({ historyLength }) }, call)),
    list: (params = {}, options = {}) => run(options, (call) => service.listTasks(params, call)),

    async *listAll(params = {}, options = {}) {
      let pageToken = params.pageToken;
      do {
        const page = await client.list({ ...params, ...defined({ pageToken }) }, options);
        yield* page.tasks;
        // A repeated page token would lead to an endless loop.
        pageToken = page.nextPageToken === pageToken ? '' : page.nextPageToken;
      } while (pageToken !== '');
    },

    cancel: (id, { metadata, ...options } = {}) =>
      run(options, (call) => service.cancelTask({ id, ...defined({ metadata }) }, call)),

    setPushConfig: (taskId, pushNotificationConfig, options = {}) =>
      run(options, (call) => service.setPushConfig({ taskId, pushNotificationConfig }, call)),
    getPushConfig: (id, pushNotificationConfigId, options = {}) =>
      run(options, (call) =>
        service.getPushConfig({ id, ...defined({ pushNotificationConfigId }) }, call),
      ),
    listPushConfigs: (id, options = {}) =>
      run(options, (call) => service.listPushConfigs({ id }, call)),
    async deletePushConfig(id, pushNotificationConfigId, options = {}) {
      await run(options, (call) =>
        service.deletePushConfig({ id, pushNotificationConfigId }, call),
      );
    },

    extendedCard: (options = {}) => run(options, (call) => service.getExtendedCard({}, call)),

    close() {
      life.end(new ConnectionError('closed', 'the client was closed'));
      life.release();
    },
    async [Symbol.asyncDispose]() {
      client.close();
    },
  };
  return client;
}

/** Makes the parameters of the operation that sends a message. */
function toParams(input: Input, options: SendOptions): MessageSendParams {
  const { taskId, contextId, metadata, configuration } = options;
  const content = typeof input === 'string' ? [{ kind: 'text' as const, text: input }] : input;
  const message: Message = {
    role: 'user',
    messageId: uuidv7(),
    ...(isParts(content) ? { parts: [...content] } : content),
    kind: 'message',
    ...defined({ taskId, contextId }),
  };
  if (metadata !== undefined) message.metadata = { ...message.metadata, ...metadata };
  return { message, ...defined({ configuration }) };
}

function isParts(input: Exclude<Input, string>): input is readonly Part[] {
  return Array.isArray(input);
}
