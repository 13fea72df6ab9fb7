/**
 * The live session: one conversation with the coding agent. The terminal, editors and other agents share it.
 *
 *   const live = await openLive({ coder, handler: server.handler, workspace, logger });
 *   const terminal = live.join({ name: 'terminal', kind: 'terminal' });
 *   for await (const item of terminal.items()) …
 *
 * conversation.ts runs the turns. session-reader.ts reads the session for one client, and member.ts is the API of one
 * client. ws/ connects clients over WebSocket.
 */
import {
  LIVE_ROLES,
  MAX_LISTED_CLIENTS,
  type LiveClient,
  type LiveRole,
  type LiveSnapshot,
  withView,
} from './client/session.ts';
import type { Editor } from './client/editor/index.ts';
import type { ToolCall } from '../protocol/development-tool/index.ts';
import { A2AError, type Task, type User } from '../protocol/index.ts';
import { callWith, mapCalls, type RequestHandler, roughSize } from '../tasks/index.ts';
import {
  type Coder,
  callsAwaitingAnswer,
  displayName,
  MAX_CLIENT_NAME,
  sessionKey,
  sessionStatus,
  type SessionStatus,
} from '../coder/index.ts';
import { Conversation, type ConversationOptions } from './conversation.ts';
import type { Followed, Presence } from './session-reader.ts';
import { Member } from './member.ts';
import { OWN_CALL } from './session-task.ts';
import { type LiveAccess, tokenOf } from './access.ts';
import { Webhooks } from './webhooks.ts';

const MAX_CLIENTS = 2000;
/** The minimum interval between presence updates. With many clients, the interval is longer. */
const PRESENCE_MS = 20;
/** Maximum total size of the earlier tasks in a snapshot. If they are larger, their oldest messages are left out. */
const MAX_EARLIER_BYTES = 4 * 1024 * 1024;

export interface LiveOptions extends Omit<ConversationOptions, 'live' | 'onQueue' | 'onClose'> {
  readonly coder: Pick<Coder, 'workspaces' | 'commands' | 'requireRoles' | 'live'>;
  /** The tokens and tickets of the session, if clients can join over the network. */
  readonly access?: LiveAccess | undefined;
  /** Returns the paths in the workspace that start with the prefix, for the completion of prompts. */
  readonly files?: ((prefix: string) => Promise<readonly string[]>) | undefined;
  /** The user that the session and its tasks belong to. By default they belong to no user, as in the terminal. */
  readonly owner?: User | undefined;
}

export interface Joining {
  /** The display name. Default: the kind. */
  readonly name?: string | undefined;
  readonly kind: LiveClient['kind'];
  /** The roles of the client. Default: all roles. */
  readonly roles?: readonly LiveRole[] | undefined;
  /**
   * The files and terminals that the client offers. They are used only if the client has the roles `prompt` and
   * `approve`.
   */
  readonly editor?: Editor | undefined;
  /** The id of the client's token. */
  readonly token?: string | undefined;
  /** Closes the client's connection. Undefined if the client has no permanent connection. */
  readonly disconnect?: (() => void) | undefined;
}

export interface Live {
  /**
   * Adds a client. Throws `unavailable` if the session is full or has ended, and `unauthenticated` if the token of the
   * client was revoked.
   */
  join(who: Joining): Member;
  /** The id of the session's current task. */
  readonly taskId: string;
  readonly contextId: string;
  readonly handler: RequestHandler;
  readonly clients: readonly LiveClient[];
  /** Removes the clients, the queued prompts and the webhooks of a revoked token. */
  removeToken(token: string): Promise<void>;
  /** Records that a client has added a webhook, which is removed with the client's token. */
  addedWebhook(token: string | undefined, url: string): void;
  /** Reads the webhooks of the session again. Call it after a client has added or removed a webhook. */
  refreshWebhooks(): Promise<void>;
  /** Ends the session for all clients. A running turn is not stopped. */
  close(): Promise<void>;
}

/** Returns the live session. Throws if it has not started yet. */
export function startedLive({ live }: { readonly live: () => Live | undefined }): Live {
  const found = live();
  if (!found) throw new A2AError('unavailable', 'The live session has not started yet');
  return found;
}

export async function openLive(options: LiveOptions): Promise<Live> {
  const { coder, workspace, logger, owner, access } = options;
  const handler = owner ? ownedBy(options.handler, owner) : options.handler;
  const members = new Set<Member>();
  let joined = 0;
  let presenceTimer: NodeJS.Timeout | undefined;
  /** The read of the session that is in progress, and the read that starts after it. */
  let reading: Promise<SessionStatus> | undefined;
  let nextReading: Promise<SessionStatus> | undefined;
  /** The tasks before `task`. They are read once for each current task. */
  let before:
    | { readonly task: string; readonly tasks: Promise<readonly EarlierTask[]> }
    | undefined;
  /** The calls that waited for an answer after the event `seq` of the task. */
  let pendingAt:
    | { readonly task: string; readonly seq: number; readonly calls: ToolCall[] }
    | undefined;

  const conversation = await Conversation.open({
    ...options,
    handler,
    live: coder.live,
    onQueue: announce,
    onClose: () => {
      clearTimeout(presenceTimer);
      stopListening();
      for (const member of members) void member.close();
    },
  });

  const stopListening = coder.commands.onChange(announce);
  const webhooks = new Webhooks({ handler, conversation, logger, onChange: announce });

  function clients(): LiveClient[] {
    return [...Array.from(members, ({ self }) => self), ...webhooks.clients];
  }

  /** Returns all clients, and the tokens that no client uses at the moment. */
  function clientsAndTokens(): LiveClient[] {
    const used = new Set(Array.from(members, ({ token }) => token));
    const unused = access?.tokens.filter(({ id }) => !used.has(id)) ?? [];
    const joined = Array.from(members, ({ self, token }) =>
      token === undefined ? self : { ...self, token },
    );
    return [...joined, ...webhooks.clients, ...unused];
  }

  async function removeToken(token: string): Promise<void> {
    conversation.drop(({ call }) => tokenOf(call.user) === token);
    for (const member of members) if (member.token === token) void member.close();
    await webhooks.removeOf(token);
  }

  async function revoke(client: string): Promise<void> {
    const member = [...members].find(({ self }) => self.id === client);
    const token = member ? member.token : client;
    // If the webhooks of a revoked token could not be removed, revoking the token again removes them.
    if (token !== undefined && (access?.revoke(token) || webhooks.hasAny(token))) {
      return removeToken(token);
    }
    if (member?.disconnect) {
      member.disconnect();
      return member.close();
    }
    if (member) {
      throw new A2AError(
        'unsupportedOperation',
        member.self.kind === 'terminal'
          ? 'The terminal cannot be removed from its session'
          : 'The client has no token, so it could join again: type /remote first, then every new client needs a token',
      );
    }
    if (!(await webhooks.remove(client))) throw new A2AError('notFound', 'No such client');
  }

  function presence(): Presence {
    const listed = clients().slice(0, MAX_LISTED_CLIENTS);
    return { clients: listed, queued: conversation.queued, commands: coder.commands.edition };
  }

  function announce(): void {
    presenceTimer ??= setTimeout(
      () => {
        presenceTimer = undefined;
        const now = presence();
        for (const member of members) member.announce(now);
      },
      Math.max(PRESENCE_MS, members.size),
    ).unref();
  }

  /** Reads the session's approval mode, model and usage. */
  async function readStatus(): Promise<SessionStatus> {
    const { task } = conversation;
    const { workspaces } = coder;
    const place = { user: owner, tenant: '', contextId: task.contextId, task };
    const { events, state } = (await workspaces.sessions.get(sessionKey(place))) ?? {
      events: [],
      state: {},
    };
    const { agent } = await workspaces.acquire(place, state);
    return sessionStatus({ events, state }, agent);
  }

  /**
   * Reads the status of the session. If a read is already in progress, waits for the next read, which all waiting
   * clients share. The read in progress may have missed the last change, and no later event would correct the status.
   */
  function currentStatus(): Promise<SessionStatus> {
    if (!reading) {
      const begun = readStatus().finally(() => (reading = undefined));
      return (reading = begun);
    }
    nextReading ??= reading
      .catch(() => undefined)
      .then(() => {
        nextReading = undefined;
        return currentStatus();
      });
    return nextReading;
  }

  function pendingIn(task: Task, seq: number): ToolCall[] {
    // The calls are cached for other clients that join at the same time.
    if (pendingAt?.task !== task.id || pendingAt.seq !== seq) {
      pendingAt = { task: task.id, seq, calls: callsAwaitingAnswer(task) };
    }
    return pendingAt.calls;
  }

  /** Returns the earlier tasks of the conversation. The result is cached, because ended tasks do not change. */
  function earlierTasks(): Promise<readonly EarlierTask[]> {
    const { id } = conversation.task;
    if (before?.task !== id) {
      before = { task: id, tasks: tasksBefore(handler, conversation.former) };
      before.tasks.catch(() => (before = undefined));
    }
    return before.tasks;
  }

  /** Reads the data of a snapshot except the task. Returns a function that builds the snapshot from the task. */
  async function prepare(joins: boolean): Promise<(task: Task, seq: number) => LiveSnapshot> {
    const { approval, model, usage } = await currentStatus();
    const earlier = joins ? await earlierTasks() : [];
    return (task, seq) => ({
      taskId: task.id,
      contextId: task.contextId,
      task,
      pending: pendingIn(task, seq),
      approval,
      model,
      usage,
      workspace,
      clients: clients().slice(0, MAX_LISTED_CLIENTS),
      seq,
      // If the conversation has moved to a new task in the meantime, `earlier` also contains the task of this snapshot.
      // So this task is removed from it.
      ...inSnapshot(earlier.filter(({ id }) => id !== task.id)),
    });
  }

  const followed: Followed = { handler, conversation, logger, presence, prepare };

  return {
    join({ name = '', kind, roles = LIVE_ROLES, editor, token, disconnect }) {
      access?.check(token);
      if (conversation.closed) throw new A2AError('unavailable', 'The live session has ended');
      if (members.size >= MAX_CLIENTS) {
        throw new A2AError('unavailable', 'The live session has too many clients', {
          retryAfterSeconds: 5,
        });
      }
      const self: LiveClient = {
        id: `${kind}-${++joined}`,
        name: displayName(name, MAX_CLIENT_NAME) || kind,
        kind,
        roles: withView(roles),
      };
      const { editors } = coder.workspaces;
      // An editor supplies and writes the content of files, so it needs the rights of a person who approves changes.
      const isTrusted = self.roles.includes('prompt') && self.roles.includes('approve');
      const editorId = editor && isTrusted ? editors.add(editor) : undefined;
      const member = new Member(self, {
        editor: editorId,
        followed,
        conversation,
        coder,
        workspace,
        owner,
        clients: clientsAndTokens,
        revoke,
        token,
        disconnect,
        files: options.files,
        onLeave(gone) {
          members.delete(gone);
          if (editorId !== undefined) editors.remove(editorId);
          if (!conversation.closed) announce();
        },
      });
      members.add(member);
      announce();
      return member;
    },
    get taskId() {
      return conversation.task.id;
    },
    get contextId() {
      return conversation.task.contextId;
    },
    handler,
    get clients() {
      return clients();
    },
    removeToken,
    addedWebhook: (token, url) => webhooks.added(token, url),
    refreshWebhooks: () => webhooks.refresh(),
    async close() {
      conversation.close();
    },
  };
}

/** Returns a handler that treats all requests, of the clients and of the session itself, as requests of this user. */
function ownedBy(handler: RequestHandler, owner: User): RequestHandler {
  return mapCalls(handler, (_operation, _params, call) =>
    callWith(call, { user: { ...owner, ...call.user, id: owner.id } }),
  );
}

/**
 * An earlier task in a snapshot, with its newest messages. `task` is undefined if the snapshot contains none of its
 * messages.
 */
interface EarlierTask {
  readonly id: string;
  readonly task: Task | undefined;
  /** The number of its messages that are left out. */
  readonly omitted: number;
}

/**
 * Returns the tasks with these ids, oldest first, with at most MAX_EARLIER_BYTES of their newest messages. If no room
 * is left, the remaining tasks are still read, to count their messages. Leaves out deleted tasks.
 */
async function tasksBefore(
  handler: RequestHandler,
  ids: readonly string[],
): Promise<EarlierTask[]> {
  const tasks: EarlierTask[] = [];
  let left = MAX_EARLIER_BYTES;
  for (const id of ids.toReversed()) {
    const found = await handler.getTask({ id }, OWN_CALL).catch((error) => {
      if (error instanceof A2AError && error.kind === 'taskNotFound') return undefined;
      throw error;
    });
    if (!found) continue;
    const { history = [], ...rest } = found;
    left -= roughSize(rest);
    let first = history.length;
    while (first > 0 && (left -= roughSize(history[first - 1])) >= 0) first -= 1;
    const kept = history.slice(first);
    const task = kept.length > 0 ? { ...found, history: kept } : undefined;
    tasks.unshift({ id, task, omitted: first });
  }
  return tasks;
}

function inSnapshot(all: readonly EarlierTask[]): Pick<LiveSnapshot, 'earlier' | 'omitted'> {
  const earlier = all.flatMap(({ task }) => task ?? []);
  const omitted = all.reduce((sum, each) => sum + each.omitted, 0);
  return { ...(earlier.length > 0 && { earlier }), ...(omitted > 0 && { omitted }) };
}
