/**
 * Maximum number of log entries that are removed in one transaction. With SQLite, more entries would block the process
 * for too long. The first part of a large task may have more, because it must contain the entry with the status.
 */
export const MAX_ENTRIES = 5000;

interface StoredTask {
  /** Number of the last log entry. */
  readonly seq: number;
  /** Number of the log entry with the status. */
  readonly statusSeq: number;
}

interface RemovalPlan<Task> {
  /** The tasks that are removed with all entries. */
  readonly whole: readonly Task[];
  /**
   * The first task, if it is too large to be removed as a whole. The transaction removes its entries with numbers above
   * `after`.
   */
  readonly part?: { readonly task: Task; readonly after: number };
  /** Number of tasks at the start of the list for which nothing is left to remove after this transaction. */
  readonly done: number;
}

/**
 * Chooses the tasks and entries that one transaction removes. Tasks for which `find` returns undefined are skipped.
 *
 * A large task is removed in parts, starting with its last entries. The first part contains the entry with the status.
 * When this entry is removed, clients no longer find the task. So they never see an incomplete task.
 */
export function removalPlan<Task extends StoredTask>(
  tasks: readonly { readonly taskId: string }[],
  find: (taskId: string) => Task | undefined,
): RemovalPlan<Task> {
  const whole: Task[] = [];
  let room = MAX_ENTRIES;
  for (const [done, { taskId }] of tasks.entries()) {
    const task = find(taskId);
    if (!task) continue;
    room -= task.seq;
    if (room >= 0) {
      whole.push(task);
      continue;
    }
    if (done > 0) return { whole, done };
    const after = Math.max(0, Math.min(task.seq - MAX_ENTRIES, task.statusSeq - 1));
    return { whole, part: { task, after }, done };
  }
  return { whole, done: tasks.length };
}
