/**
 * A codec turns the inner shape into a version's JSON and back. It is pure, knows no HTTP, and is the only place that
 * knows what a version looks like.
 *
 * Decoding is strict about what we need (an A2AError `invalidParams` says which field and why) and keeps what it does
 * not know. Encoding never fails.
 */
import type { AgentCard } from '../card.ts';
import type { A2AError } from '../errors.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type { StreamEvent } from '../task.ts';
import type { ProtocolVersion } from '../version.ts';

/** Converts between the types of this module and the JSON of one protocol version. */
export interface WireCodec {
  readonly version: ProtocolVersion;

  /** Server: a peer's parameters. Throws `invalidParams`. */
  decodeParams<O extends Operation>(operation: O, raw: unknown): ParamsOf<O>;
  /** Client: our parameters for the peer. */
  encodeParams<O extends Operation>(operation: O, params: ParamsOf<O>): unknown;

  /** Server: our answer for the peer. */
  encodeResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): unknown;
  /** Client: the peer's answer. Throws `invalidAgentResponse`. */
  decodeResult<O extends UnaryOperation>(operation: O, raw: unknown): ResultOf<O>;

  /** One event of a stream, as it stands in the JSON-RPC `result` or the SSE `data`. */
  encodeEvent(event: StreamEvent): unknown;
  /** The same as JSON text, where there is a shorter way to it; else undefined. */
  eventText?(event: StreamEvent): string | undefined;
  decodeEvent(raw: unknown): StreamEvent;

  encodeCard(card: AgentCard): unknown;
  /** Throws `invalidAgentResponse`. */
  decodeCard(raw: unknown): AgentCard;

  /** The `error` member of a JSON-RPC response. */
  encodeError(error: A2AError): { code: number; message: string; data?: unknown };
  /** From the `error` member of a JSON-RPC response, or a REST error body; `http` is its status where there is one. */
  decodeError(raw: unknown, http?: number): A2AError;
}
