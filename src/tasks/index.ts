export { createAgent } from './agent.ts';
export type { AgentContext, AgentFunction, AgentOptions, GivenAnswer, Yielded } from './agent.ts';
export type {
  A2AAgent,
  AgentExecutor,
  AgentProfile,
  ArtifactEvent,
  CancelContext,
  ExecutionContext,
  ExecutionRules,
  ExecutorEvent,
  Reception,
  RequestContext,
  StatusEvent,
  Transitions,
} from './executor.ts';
export { type CheckAccess, guardHandler } from './guard.ts';
export { createHandler, HANDLER_LIMITS, LOG_PAGE } from './handler.ts';
export type { HandlerOptions, ListOptions, LogPage, RequestHandler } from './handler.ts';
export type { OnState } from './event-log.ts';
export type { Expired, ExpireOptions } from './expiry.ts';
export type { IntakeOptions } from './intake.ts';
export type { ReserveParams } from './reserve.ts';
export type { RuntimeLimits } from './runtime.ts';
export type { Logger } from './logger.ts';
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from './memory-store.ts';
export type { Published } from './published.ts';
export type { Deliver, Delivery, DeliveryOutcome, Post } from './push.ts';
export type { EndReason, Sink } from './reader.ts';
export type * from './store.ts';
export { TaskStream } from './task-stream.ts';
export type { Opening, StreamSink } from './task-stream.ts';
export { consoleLogger } from './logger.ts';
export type { SerializedEntry } from './published.ts';
export { sameJson } from './same-json.ts';
export { roughSize } from './size.ts';
export {
  ChangeClock,
  Cursors,
  UNFINISHED,
  checkAppend,
  scopeKey,
  setsStatus,
  statusOf,
} from './store-rules.ts';
