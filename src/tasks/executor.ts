/**
 * What an agent is to the runtime.
 *
 * `createAgent` (agent.ts) is the comfortable way; this is the interface under it, for those who want the events
 * themselves. An executor yields events and returns. It is handed no bus, creates no task and knows no peer: the
 * runtime owns the task's creation, its terminal state, the signal, and what a peer may see of an error.
 */
import type { MaybePromise } from '../base/index.ts';
import type {
  AgentExtension,
  AgentProvider,
  AgentSkill,
  Artifact,
  Message,
  Metadata,
  Task,
  TaskState,
  User,
} from '../protocol/index.ts';

/** What is known when a message arrives, before there is a task. */
export interface RequestContext {
  readonly message: Message;
  readonly contextId: string;
  readonly user: User | undefined;
  /** The tenant that the task belongs to: the user's own, or the one that the caller names. Empty where there is none. */
  readonly tenant: string;
  /** URIs of the extensions that the client activated. */
  readonly extensions: readonly string[];
  /** The request's own metadata, beside the message's. */
  readonly metadata: Metadata | undefined;
}

/** One execution: from a message to the next terminal or interrupted state. */
export interface ExecutionContext extends RequestContext {
  /** The task as it was when this execution began, the message included. Not to be changed. */
  readonly task: Task;
  /** What the user said in this turn: the message that began it, then the answers; `message` is the last of them. */
  readonly turn: readonly Message[];
  /** Aborted when the task is canceled or expires, or the server goes down. What ignores it is cut off after a grace time. */
  readonly signal: AbortSignal;
  /** The process died during this task's last execution, and the executor said that it resumes. */
  readonly resumed: boolean;
}

/** The turn that is canceled. */
export type CancelContext = Pick<
  ExecutionContext,
  'task' | 'turn' | 'contextId' | 'user' | 'tenant'
>;

/** A change of state. The runtime fills in ids, the time and `final`. */
export interface StatusEvent {
  readonly kind: 'status-update';
  readonly state: TaskState;
  /** What the agent says with it: text, or a whole message. */
  readonly message?: string | Message;
  readonly metadata?: Metadata;
}

/** An artifact, or a chunk of one. */
export interface ArtifactEvent {
  readonly kind: 'artifact-update';
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

export type ExecutorEvent = StatusEvent | ArtifactEvent;

/** Where a message in a task's log says who has sent it. Written by the server alone. */
export const SOURCE_KEY = 'parley.source';

/** What an executor makes of a message for a task that exists. */
export interface Admission {
  /** Who speaks, as everybody else is to know it: it stands in the message's metadata, under SOURCE_KEY. */
  readonly source?: Metadata;
  /** Stands beside the message in the task's log. */
  readonly metadata?: Metadata;
  /**
   * Takes a message for a task that is being executed, as soon as it has its place in the log. Without it, such a
   * message is refused. Must not throw.
   */
  readonly deliver?: (message: Message) => void;
  /** Where the version allows it, the sender's stream begins behind its own message, without the task. */
  readonly brief?: boolean;
}

/** What is fixed when a task begins. */
export interface Beginning {
  /** The task's own. */
  readonly metadata?: Metadata;
  /** In milliseconds: from then on the task is ended if it is not finished, and removed if it is. */
  readonly expiresAt?: number;
}

export interface AgentExecutor {
  /**
   * Asked about every message that begins a task, before anything is stored. Throws an A2AError to refuse it; then
   * nothing has happened.
   */
  begin?(context: RequestContext): MaybePromise<Beginning | undefined>;

  /**
   * Answers a new message without making a task; undefined: make one. It should be quick: until it answers, nothing
   * is stored and nobody sees that anything happens.
   */
  reply?(context: RequestContext): MaybePromise<Message | undefined>;

  /**
   * Asked about every message for a task that exists, with the task as its log has it at this moment: nothing comes
   * between the answer and the message's place in the log. Throws an A2AError to refuse it; then nothing has happened.
   * It must not keep the task.
   */
  admit?(context: RequestContext, task: Task): Admission | undefined;

  /**
   * Does the work. Yields events in order; after a terminal or interrupted state no more are taken. Returning without
   * one completes the task; throwing fails it, with the cause in our log alone. When an interrupted task gets its
   * answer, `execute` is called anew with the answer as the message.
   */
  execute(context: ExecutionContext): AsyncIterable<ExecutorEvent>;

  /**
   * Told when a task is canceled, has expired or was lost with its store, after its signal was aborted, also while it
   * waits for input, in whatever process it was executed before. Must not throw.
   */
  cancel?(taskId: string, context: CancelContext): MaybePromise<void>;

  /** A message to a completed task starts a new turn of it. A function decides by what the client asked for. */
  readonly continues?: boolean | ((context: RequestContext) => boolean);

  /**
   * The task is a session that has one turn after the other: one may subscribe to it in every state, and sees the turns
   * to come. Asked each time that the task comes to rest. Must not throw.
   */
  spans?(taskId: string): boolean;

  /** A task is `working` before it is completed or failed: where the agent did not say so, the runtime does. */
  readonly worksFirst?: boolean;

  /** What it yields is the log's from then on, and never touched again: it need not be copied. */
  readonly givesAway?: boolean;

  /**
   * What goes into the log instead of an event, given the state that the task is in; undefined: the event as it is.
   * What it throws fails the task. Not asked about what the runtime itself says.
   */
  order?(state: TaskState, event: ExecutorEvent): readonly ExecutorEvent[] | undefined;

  /** After a crash, an execution that was cut off is started again (`context.resumed`) instead of failed. */
  readonly resumes?: boolean;
}

/** What an agent says of itself. The server makes the card from it. */
export interface AgentProfile {
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly provider?: AgentProvider;
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly skills?: readonly AgentSkill[];
  /** Media types. Where they are given, a message with a file of another type is refused. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly extensions?: readonly AgentExtension[];
}

/** An executor that can introduce itself. */
export interface Agent extends AgentExecutor {
  readonly profile: AgentProfile;
}
