/**
 * A live session, seen by one of those who take part in it: the terminal, an editor, another agent.
 *
 * It is one conversation with the coding agent that any number of clients share. All see the same events in the same
 * order; each may prompt and answer what is asked, as far as its roles go; the first answer counts, everywhere.
 *
 * The session is a task that has turns (the virtual task). Where a turn fails or is canceled, that task is over and the
 * conversation goes on in a new one: a snapshot says so.
 */
import type {
  ExecuteSlashCommandRequest,
  ExecuteSlashCommandResponse,
  SlashCommand,
  ToolCall,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import type { Part, StreamEvent, Task } from '../../protocol/index.ts';

/** What a client of a live session may do. */
export type LiveRole = 'view' | 'prompt' | 'approve';

/** Somebody who takes part. */
export interface LiveClient {
  readonly id: string;
  /** For people: `phone`, `zed`. */
  readonly name: string;
  readonly kind: 'terminal' | 'a2a' | 'acp';
  readonly roles: readonly LiveRole[];
}

/** The session as it stands, for one who joins. */
export interface LiveSnapshot {
  /** The virtual task's. */
  readonly taskId: string;
  readonly contextId: string;
  readonly task: Task;
  /** Calls that wait for an answer. */
  readonly pending: readonly ToolCall[];
  /** The approval mode. */
  readonly approval: string;
  readonly model: string;
  readonly workspace: string;
  readonly clients: readonly LiveClient[];
  /** The last event of the task that is in it. */
  readonly seq: number;
  /** For one who joins: the tasks that the conversation was in before, oldest first. Only those that are still kept. */
  readonly earlier?: readonly Task[] | undefined;
}

/** A prompt that waits for the turn before it. */
export interface QueuedPrompt {
  readonly text: string;
  /** Who sent it, for people. */
  readonly from: string;
}

/** What became of a prompt. */
export interface TakenPrompt {
  readonly queued: boolean;
  readonly taskId: string;
  /**
   * Of one that waits: resolves if it is forgotten, by whoever cancels the turn before it or because the agent does not
   * take it. Known where the session is in this process.
   */
  readonly forgotten?: Promise<void>;
}

/** An event of a live session. */
export type LiveItem =
  /** First, unless the client resumes; and again when the conversation goes on in another task. */
  | { readonly kind: 'snapshot'; readonly snapshot: LiveSnapshot }
  /** What happened next, in the 0.3 shape with the extension's metadata. */
  | {
      readonly kind: 'event';
      readonly taskId: string;
      readonly seq: number;
      readonly event: StreamEvent;
    }
  /** Somebody came or left, or the queue has changed. Not in the log: only the latest counts. */
  | {
      readonly kind: 'presence';
      readonly clients: readonly LiveClient[];
      readonly queued: readonly QueuedPrompt[];
    };

/** A live session that this client has joined. */
export interface LiveSession {
  /** Who this client is. */
  readonly self: LiveClient;
  /** What happens, from a snapshot on, or behind event `after` of the present task. Ends when the session does. */
  items(options?: {
    readonly after?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<LiveItem>;
  /** A new turn, or queued while one is under way. Resolves once it is taken. */
  prompt(content: string | readonly Part[]): Promise<TakenPrompt>;
  /** Answers a call that waits. Throws A2AError -32004 with reason ALREADY_RESOLVED when somebody else was first. */
  confirm(confirmation: ToolCallConfirmation): Promise<void>;
  /** Stops the turn that is under way, and forgets the queue. */
  cancel(): Promise<void>;
  commands(): Promise<readonly SlashCommand[]>;
  execute(request: ExecuteSlashCommandRequest): Promise<ExecuteSlashCommandResponse>;
  clients(): Promise<readonly LiveClient[]>;
  /** Leaves. The session goes on. */
  close(): Promise<void>;
}
