/** Tasks that wait for their first message: made beforehand, so that their id is known, and executed once it comes. */
import { randomUUIDv7 } from 'node:crypto';
import { A2AError, type Call, type Metadata, type Task } from '../protocol/index.ts';
import { LogFullError } from './log/event-log.ts';
import type { Runtime } from './runtime.ts';
import { scopeOf } from './scope.ts';
import { timestamp } from './log/time.ts';

/** The parameters for reserving a task. */
export interface ReserveParams {
  readonly contextId?: string | undefined;
  /** The task's own. */
  readonly metadata?: Metadata | undefined;
  readonly tenant?: string | undefined;
}

export async function reserve(runtime: Runtime, params: ReserveParams, call: Call): Promise<Task> {
  runtime.checkOpen();
  const task: Task = {
    kind: 'task',
    id: randomUUIDv7(),
    contextId: params.contextId ?? randomUUIDv7(),
    status: { state: 'submitted', timestamp: timestamp() },
    ...(params.metadata && { metadata: params.metadata }),
  };
  using live = runtime.log.create(scopeOf(call, params.tenant), task);
  try {
    await live.whenStored(live.seq);
  } catch (error) {
    const why = error instanceof LogFullError ? 'Too many tasks are unfinished' : undefined;
    throw new A2AError('unavailable', why, { retryAfterSeconds: 1 });
  }
  return task;
}
