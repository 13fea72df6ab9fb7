/**
 * A live session as one client sees it. The client may be the terminal, an editor or another agent.
 *
 * A live session is one conversation with the coding agent. Any number of clients share it. All clients see the same
 * events in the same order. A client may send prompts and answer questions if its roles allow it. The first answer to a
 * question counts.
 *
 * The session is a task with turns (the virtual task). If a turn fails or is canceled, the task ends and the
 * conversation continues in a new task. The clients then receive a new snapshot.
 */
import type {
  ExecuteSlashCommandRequest,
  ExecuteSlashCommandResponse,
  SessionUsage,
  SlashCommand,
  ToolCall,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import type { Part, StreamEvent, Task } from '../../protocol/index.ts';

/** A role of a client. `view`: view the session. `prompt`: send prompts. `approve`: answer questions. */
export type LiveRole = 'view' | 'prompt' | 'approve';
/** All roles. */
export const LIVE_ROLES: readonly LiveRole[] = ['view', 'prompt', 'approve'];

/** Returns the given roles and `view`, which every client has. */
export function withView(roles: readonly LiveRole[]): LiveRole[] {
  return LIVE_ROLES.filter((role) => role === 'view' || roles.includes(role));
}

/** The form of a token: `token` in RFC 9110, because it is sent in a header or as a WebSocket subprotocol. */
export const LIVE_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** Maximum number of clients in a snapshot or a presence update. `LiveSession.clients` returns all clients. */
export const MAX_LISTED_CLIENTS = 100;

/** A client of the session. */
export interface LiveClient {
  readonly id: string;
  /** The display name, for example `phone` or `zed`. */
  readonly name: string;
  readonly kind: 'terminal' | 'a2a' | 'acp';
  readonly roles: readonly LiveRole[];
  /** False for a token that no client uses at the moment. Only `LiveSession.clients` lists such tokens. */
  readonly connected?: boolean | undefined;
  /** The id of the token with which the client joined. Only `LiveSession.clients` returns it. */
  readonly token?: string | undefined;
}

/** The current state of the session, for a client that joins. */
export interface LiveSnapshot {
  /** The id of the virtual task. */
  readonly taskId: string;
  readonly contextId: string;
  readonly task: Task;
  /** Calls that wait for an answer. */
  readonly pending: readonly ToolCall[];
  /** The approval mode. */
  readonly approval: string;
  readonly model: string;
  /** The usage of the session. Servers other than Parley may omit it. */
  readonly usage?: SessionUsage | undefined;
  readonly workspace: string;
  readonly clients: readonly LiveClient[];
  /** The sequence number of the last event that the snapshot contains. */
  readonly seq: number;
  /**
   * The number of earlier messages that are left out: because the client asked for a limit, or because the earlier
   * tasks are too large.
   */
  readonly omitted?: number | undefined;
  /**
   * Earlier tasks of the conversation, oldest first. Tasks without messages are left out. If the tasks together are too
   * large, they have only their newest messages. Only in the first snapshot of a client.
   */
  readonly earlier?: readonly Task[] | undefined;
}

/** A prompt that waits until the running turn ends. */
export interface QueuedPrompt {
  readonly text: string;
  /** The display name of the sender. */
  readonly from: string;
}

/** The result of sending a prompt. */
export interface TakenPrompt {
  readonly queued: boolean;
  readonly taskId: string;
  /**
   * Resolves with the reason if the queued prompt is dropped, for example because a client canceled the turn or the
   * agent refused the prompt. Available only in the process that runs the session.
   */
  readonly forgotten?: Promise<unknown>;
}

/** An event of a live session. */
export type LiveItem =
  /** The first item, if the client does not resume. Sent again when the conversation continues in another task. */
  | { readonly kind: 'snapshot'; readonly snapshot: LiveSnapshot }
  /** The next event of the task, in the 0.3 format with the extension's metadata. */
  | {
      readonly kind: 'event';
      readonly taskId: string;
      readonly seq: number;
      readonly event: StreamEvent;
    }
  /**
   * Sent when the clients, the queue or the commands have changed. It is not in the log. Each value replaces the
   * previous one.
   */
  | {
      readonly kind: 'presence';
      readonly clients: readonly LiveClient[];
      readonly queued: readonly QueuedPrompt[];
      /**
       * The version of the slash commands. The version increases when the commands change, because an MCP server has
       * changed its prompts. Default: 0.
       */
      readonly commands?: number | undefined;
    };

/** A live session that this client has joined. */
export interface LiveSession {
  /** This client. */
  readonly self: LiveClient;
  /**
   * Returns the items. Without `after`, they start with a snapshot. With `after`, they start with the first event after
   * this sequence number in the current task. The iteration ends when the session ends.
   */
  items(options?: {
    readonly after?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<LiveItem>;
  /**
   * Starts a turn, or queues the prompt while a turn runs. If the turn waits for an answer in words, the prompt of an
   * editor with the role `approve` is sent as the answer. Resolves when the prompt is stored or queued.
   */
  prompt(content: string | readonly Part[]): Promise<TakenPrompt>;
  /** Answers a waiting call. Throws A2AError -32004 with reason ALREADY_RESOLVED if another client answered first. */
  confirm(confirmation: ToolCallConfirmation): Promise<void>;
  /**
   * Cancels the running turn, and drops the queued prompts. With `keepQueue`, keeps the queued prompts, and starts the
   * next one.
   */
  cancel(options?: { readonly keepQueue?: boolean }): Promise<void>;
  commands(): Promise<readonly SlashCommand[]>;
  /** Returns the names of the models to choose from. Available only in the process that runs the session. */
  models?(): Promise<readonly string[]>;
  /**
   * Returns the paths in the workspace that start with the prefix, for completion after `@`. Folders end with a slash.
   * Servers other than Parley may lack this method.
   */
  files?(prefix: string): Promise<readonly string[]>;
  execute(request: ExecuteSlashCommandRequest): Promise<ExecuteSlashCommandResponse>;
  clients(): Promise<readonly LiveClient[]>;
  /**
   * Removes a client by its id. If the client joined with a token, the token is revoked, and all connections with this
   * token are closed. Requires the roles `prompt` and `approve`, except for this client itself.
   */
  revoke?(client: string): Promise<void>;
  /** Leaves the session. The session continues for other clients. */
  close(): Promise<void>;
}
