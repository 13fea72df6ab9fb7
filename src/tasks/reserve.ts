/** Creates tasks that wait for their first message, so that the task id is known before the message is sent. */
import { type Call, type Metadata, type Task, uuidv7 } from '../protocol/index.ts';
import { allStored } from './intake.ts';
import type { Runtime } from './runtime.ts';
import { scopeOf } from './scope.ts';
import { timestamp } from './log/time.ts';

/** The parameters of `reserveTask`. */
export interface ReserveParams {
  readonly contextId?: string | undefined;
  /** The task's metadata. */
  readonly metadata?: Metadata | undefined;
  readonly tenant?: string | undefined;
}

/** Creates a task without a message. Resolves when it is stored. */
export async function reserve(runtime: Runtime, params: ReserveParams, call: Call): Promise<Task> {
  runtime.checkOpen();
  const task: Task = {
    kind: 'task',
    id: uuidv7(),
    contextId: params.contextId ?? uuidv7(),
    status: { state: 'submitted', timestamp: timestamp() },
    ...(params.metadata && { metadata: params.metadata }),
  };
  using live = runtime.log.create(scopeOf(call, params.tenant), task, undefined, undefined, true);
  await allStored(live);
  return task;
}
