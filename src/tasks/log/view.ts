/**
 * Views of a task's log.
 *
 * A task has one log. Clients that use different dialects see different views of the log. A view shows an entry as it
 * is, in another form, or not at all. The agent declares its views, and chooses one for each request. A client can
 * resume a view after any entry, because the view of an entry depends only on the entry itself. The sequence numbers
 * are those of the log, so the numbers in a view may have gaps.
 */
import type {
  Message,
  Metadata,
  ProtocolVersion,
  Task,
  TaskArtifactUpdateEvent,
  TaskEvent,
  TaskStatusUpdateEvent,
} from '../../protocol/index.ts';

/** The data of a request that determines its view. */
export interface ViewRequest {
  /** URIs of the extensions that the request activates. */
  readonly extensions: readonly string[];
  /** The protocol version of the request. Undefined if the caller does not use A2A. */
  readonly version?: ProtocolVersion | undefined;
  /** The message that the request sends, if it sends one. */
  readonly message?: Message | undefined;
  /** The metadata of the request, not of its message. */
  readonly metadata?: Metadata | undefined;
  /**
   * If `LogViews.byFirstMessage` is set, the first message of the task. It is missing in a list of tasks, for an
   * existing session (`ExecutionRules.isSession`), and for a task that has no message yet. If `byFirstMessage` is not
   * set, this is the same as `message`.
   */
  readonly first?: Message | undefined;
  /**
   * The protocol version of a request that sends a message and gets the task as its result. Undefined for other
   * requests, for example those that get a stream.
   */
  readonly result?: ProtocolVersion | undefined;
}

/** An event that changes a task. */
export type TaskUpdate = TaskStatusUpdateEvent | TaskArtifactUpdateEvent;

/**
 * Shows a task's log to clients of one kind. The methods must not throw, and must not change their argument. If the
 * view shows the argument as it is, the methods return the argument itself, so that its JSON is shared with the log.
 *
 * The events that a view shows must fold into the task that `task` returns for the folded log.
 */
export interface LogView {
  /** Identifies the view among the agent's views. It is stored with webhooks. */
  readonly name: string;
  /** Shows a task, which is the first entry of a log or is folded from the log. */
  task(task: Task): Task;
  /** Shows any other entry. Returns undefined if the view does not contain it. A final event must be shown. */
  update(event: TaskUpdate): TaskUpdate | undefined;
}

/** The views of an agent. */
export interface LogViews {
  readonly all: readonly LogView[];
  /** Whether the choice depends on the first message of the task. If so, this message is read for each request. */
  readonly byFirstMessage?: boolean;
  /** Chooses the view of a request. An empty request gets the view that every client may see. Must not throw. */
  choose(request: ViewRequest): LogView;
}

/** Returns the event as the view shows it, or undefined if the view does not contain it. */
export function viewed(view: LogView, event: TaskEvent): TaskEvent | undefined {
  return event.kind === 'task' ? view.task(event) : view.update(event);
}
