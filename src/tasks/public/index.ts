/** The part of the task runtime that the package exports. */
export * from '../execution/agent.ts';
export type { ExecutionLimits } from '../execution/execution.ts';
export type * from '../execution/executor.ts';
export type { Expired, ExpireOptions } from '../expiry.ts';
export {
  createHandler,
  type HandlerOptions,
  type ListOptions,
  type LogPage,
  type ReadLogParams,
  type RequestHandler,
  type SubscribeOptions,
} from '../handler.ts';
export type { IntakeOptions } from '../intake.ts';
export type { OnState } from '../log/live-task.ts';
export * from '../log/logger.ts';
export type { Published } from '../log/published.ts';
export type { EndReason, Sink } from '../log/reader.ts';
export { TaskStream, type Opening, type StreamSink } from '../log/task-stream.ts';
export type { UserCodec } from '../owner.ts';
export type { LogView, LogViews, TaskUpdate, ViewRequest } from '../log/view.ts';
export type { DeadLetterOperations, DeadLetterParams } from '../push-operations.ts';
export type * from '../push/deliver.ts';
export type { PushLimits } from '../push/notifier.ts';
export type { WebhookLimits } from '../push/webhook.ts';
export type { ReserveParams } from '../reserve.ts';
export type { Retention } from '../retention.ts';
export type { RuntimeLimits } from '../runtime.ts';
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from '../store/memory-store.ts';
export type * from '../store/store.ts';
