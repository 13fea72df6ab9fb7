/** What an A2A client of a live session must know about the ids of its tasks. */

/**
 * The key in the task's metadata that marks the response to a queued prompt. The prompt runs when the current turn
 * ends. If the current turn fails or is canceled, the prompt runs in another task, and the events of that task follow.
 */
export const QUEUED_KEY = 'parley.queued';

/**
 * The start of every execution id. `command/execute` returns an execution id, which is the id of the message that
 * starts the command's turn. Clients can use it like a task id. Clients choose the ids of their messages, so without
 * the prefix a message could have the id of a task. The events of an execution have the id of the session's task.
 */
export const EXECUTION_PREFIX = 'execution-';
