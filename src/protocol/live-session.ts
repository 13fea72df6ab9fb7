/** What an A2A client of a live session must know about the ids of its tasks. */

/**
 * The key in the task's metadata that marks the response to a queued prompt. The prompt runs when the current turn ends.
 * If this turn fails or is canceled, the prompt runs in another task, whose events follow.
 */
export const QUEUED_KEY = 'parley.queued';

/**
 * The start of every execution id. An execution has the id of the message that starts it. The prefix distinguishes this
 * id from the id of a task. Clients choose the ids of their messages, so without this prefix a message could have the
 * id of a task. The events of an execution have the id of the session's task.
 */
export const EXECUTION_PREFIX = 'execution-';
