/** Constants for A2A clients of a live session: the key that marks a queued prompt, and the prefix of execution ids. */

/**
 * The key in the task's metadata that marks the response to a queued prompt. The prompt runs when the current turn
 * ends. If the current turn fails, or is canceled or rejected, the prompt runs in another task. The next events in the
 * prompt's stream then have the id of that task.
 */
export const QUEUED_KEY = 'parley.queued';

/**
 * The start of every execution id. `command/execute` returns an execution id, which is the id of the message that
 * starts the command's turn. Clients can use an execution id like a task id, and the prefix distinguishes the two kinds
 * of ids. Without the prefix, a client could send a message whose id is the id of another task, and requests for that
 * task would be treated as requests for an execution. The events of an execution have the id of the session's task.
 */
export const EXECUTION_PREFIX = 'execution-';
