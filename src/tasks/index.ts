export { createAgent } from './execution/agent.ts';
export type {
  AgentContext,
  AgentFunction,
  AgentOptions,
  GivenAnswer,
  Yielded,
} from './execution/agent.ts';
export type {
  A2AAgent,
  AgentExecutor,
  AgentProfile,
  ArtifactEvent,
  CancelContext,
  ConcludeContext,
  ExecutionContext,
  ExecutionRules,
  ExecutorEvent,
  Reception,
  RequestContext,
  StatusEvent,
  Transitions,
} from './execution/executor.ts';
export { tracedExecutor } from './execution/traced-executor.ts';
export { type CheckAccess, guardHandler, mapCalls } from './guard.ts';
export { createHandler, FinishedTaskError } from './handler.ts';
export type {
  HandlerOptions,
  ListOptions,
  LogPage,
  ReadLogParams,
  RequestHandler,
  SubscribeOptions,
} from './handler.ts';
export type { OnState } from './log/event-log.ts';
export type { Expired, ExpireOptions } from './expiry.ts';
export { DEFAULT_RETENTION, type Retention } from './retention.ts';
export { startSweeper } from './sweeper.ts';
export { ContextMismatchError, type IntakeOptions } from './intake.ts';
export type { ReserveParams } from './reserve.ts';
export type { ExecutionLimits } from './execution/execution.ts';
export type { RuntimeLimits } from './runtime.ts';
export type { Logger } from './log/logger.ts';
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from './store/memory-store.ts';
export type { Published } from './log/published.ts';
export type { PushLimits } from './push/notifier.ts';
export type { WebhookLimits } from './push/webhook.ts';
export type {
  Admit,
  Deliver,
  Delivery,
  DeliveryOutcome,
  FailedDelivery,
  Post,
} from './push/deliver.ts';
export type { DeadLetterOperations, DeadLetterParams } from './push-operations.ts';
export type { EndReason, Sink } from './log/reader.ts';
export type { TaskUpdate, LogView, ViewRequest, LogViews } from './log/view.ts';
export type * from './store/store.ts';
export { MAX_DEAD_LETTERS } from './store/store.ts';
export { opening, TaskStream } from './log/task-stream.ts';
export type { Opening, StreamSink } from './log/task-stream.ts';
export { consoleLogger } from './log/logger.ts';
export { sameJson } from './log/same-json.ts';
export { roughSize } from './log/size.ts';
export {
  ChangeClock,
  Cursors,
  UNFINISHED,
  checkAppend,
  scopeKey,
  setsStatus,
  foldedStatus,
} from './store/store-rules.ts';
