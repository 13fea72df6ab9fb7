/**
 * The A2A operations of a live session over HTTP, for JSON-RPC, REST and the flat API (coder/flat-api).
 *
 * Every message is a turn of the shared session, or an answer to one of its questions. The sender is a client of the
 * session, so the terminal shows the client, its prompts and its answers. No request starts a task of its own. Other
 * tasks in the store can be read, but they are not executed.
 */
import { raceAbort } from '../../base/index.ts';
import { namedExtensions, type CommandService } from '../../coder/index.ts';
import {
  CODER_AGENT,
  isCompatible,
  speaksCoderAgent,
} from '../../protocol/development-tool/index.ts';
import {
  A2AError,
  type Call,
  type Message,
  type MessageSendParams,
  type SendResult,
  type SubscribeParams,
  type Task,
} from '../../protocol/index.ts';
import {
  callWith,
  hidePushSecrets,
  type Logger,
  opening,
  type LogPage,
  type RequestHandler,
  TaskStream,
  type ReadLogParams,
} from '../../tasks/index.ts';
import { tokenOf } from '../access.ts';
import type { Heard } from '../heard-messages.ts';
import type { HttpClients, Visit } from './clients.ts';
import type { Live } from '../hub.ts';
import { streamTurn, submitted, turnLog, turnSettled, turnTask } from '../turns.ts';
import { guardRoles } from './access.ts';

export interface HttpHandlerOptions {
  /** Returns the live session. Throws if it has not started yet. */
  readonly live: () => Live;
  readonly clients: HttpClients;
  readonly logger: Logger;
}

/** The call of a request and, if it has one, its message. The message may contain the name of the client. */
interface Caller {
  readonly call: Call;
  readonly message?: Message;
}

/** Returns the commands of the session for clients over HTTP. Each execution of a command is a turn of the session. */
export function httpCommands(clients: HttpClients, live: () => Live): CommandService {
  return {
    async list(place, call = {}) {
      using visit = clients.enter(live(), call);
      return await visit.member.commands(place);
    },
    async execute(request, call) {
      using visit = clients.enter(live(), call);
      return await visit.member.execute(request);
    },
  };
}

export function httpHandler(handler: RequestHandler, options: HttpHandlerOptions): RequestHandler {
  const { clients } = options;
  // All clients share the task of the session. So a client with a token must not see the secrets of webhooks, which
  // another client may have added.
  const guarded = hidePushSecrets(guardRoles(handler), ({ user }) => tokenOf(user) !== undefined);

  function enter({ call, message }: Caller): Visit {
    return clients.enter(options.live(), call, message);
  }

  /** Runs a request while its client is in the session. */
  async function during<T>(caller: Caller, work: (visit: Visit) => Promise<T>): Promise<T> {
    using visit = enter(caller);
    return await work(visit);
  }

  /** Returns a stream. The client is in the session until the stream ends. */
  async function streaming(caller: Caller, open: (visit: Visit) => Promise<TaskStream>) {
    const visit = enter(caller);
    try {
      const stream = await open(visit);
      return TaskStream.later(Promise.resolve(stream), { onEnd: () => visit[Symbol.dispose]() });
    } catch (error) {
      visit[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Sends a message. Returns whether the message was queued, and a promise of its position in the log. The promise
   * resolves when the message is in the log.
   */
  async function send(params: MessageSendParams, call: Call, member: Visit['member']) {
    const { queued } = await member.send(params, asMember(call, member.call));
    const heard = member.heard(params.message.messageId);
    // The webhook is stored with the message, so the list of webhooks is read again when the message is in the log.
    const webhook = params.configuration?.pushNotificationConfig;
    if (webhook) {
      options.live().addedWebhook(member.token, webhook.url);
      heard.then(() => options.live().refreshWebhooks()).catch(() => undefined);
    }
    return { queued, heard };
  }

  /**
   * Wraps an operation that changes webhooks. The returned function then reads the session's list of webhooks again.
   */
  function changesWebhooks<P, R>(
    change: (params: P, call: Call) => Promise<R>,
    check?: (params: P, member: Visit['member']) => void,
  ) {
    return (params: P, call: Call = {}): Promise<R> =>
      during({ call }, async ({ member }) => {
        check?.(params, member);
        const result = await change(params, call);
        await options.live().refreshWebhooks();
        return result;
      });
  }

  function sendMessage(params: MessageSendParams, given: Call = {}): Promise<SendResult> {
    const call = withNamed(params, given);
    const { message, configuration = {} } = params;
    const { blocking, historyLength } = configuration;
    return during({ call, message }, async ({ member }) => {
      const { queued, heard } = await send(params, call, member);
      if (blocking === false && queued) {
        heard.catch(() => undefined);
        return member.queuedTask();
      }
      const found = await abortable(heard, call.signal);
      if (blocking !== false) await turnSettled(handler, found, call);
      return turnTask(handler, found, call, historyLength);
    });
  }

  function streamMessage(
    params: MessageSendParams,
    given: Call = {},
    seen?: number,
  ): Promise<TaskStream> {
    const call = withNamed(params, given);
    const { message } = params;
    return streaming({ call, message }, async ({ member }) => {
      const { queued, heard } = await send(params, call, member);
      if (!queued) return begunTurn(await heard, message, call, seen);
      // After the queued task, the stream continues with the client's own message, which shows that its turn has begun.
      const turn = heard.then((each) =>
        streamTurn(handler, each, call, each.at && each.at.seq - 1),
      );
      return TaskStream.later(withPublicError(turn), { first: opening(member.queuedTask()) });
    });
  }

  /** Streams a turn that has begun. The stream starts with the task if the client has not seen events of the turn. */
  async function begunTurn(
    heard: Heard,
    message: Message,
    call: Call,
    seen?: number,
  ): Promise<TaskStream> {
    const { taskId, contextId, at } = heard;
    if (!at) return streamTurn(handler, heard, call);
    if (seen !== undefined) return streamTurn(handler, heard, call, Math.max(seen, at.seq));
    const history = [{ ...message, taskId, contextId }];
    const task: Task = { ...submitted(taskId, contextId), status: { state: 'working' }, history };
    const first = opening(task, at.seq);
    return TaskStream.later(withPublicError(streamTurn(handler, heard, call)), { first });
  }

  /** Logs an error that is not an A2AError, and replaces it with an A2AError without details. */
  function withPublicError(stream: Promise<TaskStream>): Promise<TaskStream> {
    return stream.catch((error: unknown) => {
      if (error instanceof A2AError) throw error;
      options.logger.error({ err: error }, 'failed to stream a turn of the live session');
      throw new A2AError('internal');
    });
  }

  function subscribe(params: SubscribeParams, call: Call = {}): Promise<TaskStream> {
    const { id, after } = params;
    return streaming({ call }, async ({ member }) => {
      if (!member.isExecution(id)) return guarded.subscribe(params, call);
      const heard = member.heard(id);
      const turn = heard.then((each) =>
        streamTurn(handler, each, call, each.at && Math.max(each.at.seq - 1, after ?? 0)),
      );
      const first = after === undefined ? opening(member.sessionTask()) : undefined;
      return TaskStream.later(withPublicError(turn), { first });
    });
  }

  async function readLog(params: ReadLogParams, call: Call = {}): Promise<LogPage> {
    return during({ call }, async ({ member }) => {
      if (!member.isExecution(params.id)) return guarded.readLog(params, call);
      const heard = await abortable(member.heard(params.id), call.signal);
      return turnLog(handler, heard, call, params);
    });
  }

  return {
    ...guarded,
    sendMessage,
    streamMessage,
    subscribe,
    readLog,
    setPushConfig: changesWebhooks(
      guarded.setPushConfig,
      ({ taskId, pushNotificationConfig: { url } }, member) => {
        // Webhooks for other tasks are refused, because the list of clients would not show them.
        member.checkPlace({ taskId });
        options.live().addedWebhook(member.token, url);
      },
    ),
    deletePushConfig: changesWebhooks(guarded.deletePushConfig),
    reserveTask: (params, call = {}) =>
      during({ call }, ({ member }) => member.reserveTask(params, call)),
    getTask: (params, call = {}) => during({ call }, ({ member }) => member.getTask(params, call)),
    listTasks: (params, call = {}, more) =>
      during({ call }, () => guarded.listTasks(params, call, more)),
    cancelTask: (params, call = {}) =>
      during({ call }, ({ member }) => member.cancelTask(params, call)),
    get running() {
      return handler.running;
    },
  };
}

/** Returns the call with the extensions that its message names, because the turn is later read without the message. */
function withNamed({ message, metadata }: MessageSendParams, call: Call): Call {
  const { extensions = [] } = call;
  const named = namedExtensions({ extensions, message, metadata }).filter(isCompatible);
  if (speaksCoderAgent({ extensions: named, message, metadata })) named.push(CODER_AGENT);
  return callWith(call, { extensions: named });
}

/**
 * Returns the call of an HTTP request with the client as its user. The returned call is not aborted when the request
 * ends.
 */
function asMember({ extensions, version, base }: Call, { user }: Call): Call {
  return { user, extensions, version, base };
}

/** Waits for the promise. Throws `unavailable` if the signal is aborted first. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return raceAbort(promise, signal).catch((error: unknown) => {
    if (error !== signal.reason) throw error;
    throw new A2AError(
      'unavailable',
      'The client has disconnected. Its prompt stays in the queue.',
    );
  });
}
