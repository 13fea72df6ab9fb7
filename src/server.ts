/** The entry point `parley-a2a/server`: `serve()`, and the types and functions for its arguments and results. */
export { type AgentServer, type Listening, type AddedAddress, serve } from './serve.ts';
export type { ServeLimits, ServeOptions } from './serve-options.ts';
export * from './protocol.ts';
export { consoleHandler, type ConsoleOptions } from './console/index.ts';
export type { MaybePromise } from './base/index.ts';
export {
  openTelemetryTracer,
  type Attributes,
  type Span,
  type SpanOptions,
  type Tracer,
} from './base/tracing/index.ts';
export {
  openSigningKeys,
  signingKeys,
  SigningKeyError,
  type PublicKeyJwk,
  type SigningKeys,
} from './base/signing/index.ts';
export * from './tasks/public/index.ts';
export * from './http/public/index.ts';
