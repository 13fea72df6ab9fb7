/** The part of the protocol that the package exports. */
export * from '../card.ts';
export * as developmentTool from '../development-tool/index.ts';
export {
  A2AError,
  ERRORS,
  type ErrorDetail,
  type ErrorKind,
  type FieldViolation,
} from '../errors.ts';
export { inspectJson } from '../json.ts';
export {
  Artifact,
  DataPart,
  FileContent,
  FilePart,
  Message,
  Metadata,
  Part,
  Role,
  TextPart,
  textOf,
} from '../message.ts';
export {
  operationOf,
  type Operation,
  type ParamsOf,
  type ResultOf,
  type StreamOperation,
  type UnaryOperation,
} from '../methods.ts';
export * from '../params.ts';
export { fold, reduce } from '../reduce.ts';
export type * from '../service.ts';
export {
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatus,
  TaskStatusUpdateEvent,
  type LogEntry,
  type SendResult,
  type StreamEvent,
  type TaskEvent,
} from '../task.ts';
export { isInterrupted, isSettled, isTerminal } from '../task-state.ts';
export * from '../version.ts';
export type { WireCodec } from '../wire/codec.ts';
export { codecOf } from '../wire/codecs.ts';
export type { ErrorSubject } from '../wire/error.ts';
export * from '../wire/json-rpc.ts';
export { v03 } from '../wire/v03.ts';
export { v03Rest } from '../wire/v03-rest.ts';
export { v1 } from '../wire/v1.ts';
