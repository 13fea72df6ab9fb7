/**
 * A codec converts between the internal format and the JSON of one protocol version. It is pure and independent of HTTP.
 * No other code depends on the format of a version.
 *
 * Decoding validates known fields (`invalidParams` names the field) and keeps unknown ones. Encoding never fails.
 */
import type { AgentCard } from '../card.ts';
import type { A2AError } from '../errors.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type { StreamEvent } from '../task.ts';
import type { ProtocolVersion } from '../version.ts';

/** Converts between the types of this module and the JSON of one protocol version. */
export interface WireCodec {
  readonly version: ProtocolVersion;

  /** Server: decodes a peer's parameters. Throws `invalidParams`. */
  decodeParams<O extends Operation>(operation: O, raw: unknown): ParamsOf<O>;
  /** Client: encodes parameters for the peer. */
  encodeParams<O extends Operation>(operation: O, params: ParamsOf<O>): unknown;

  /** Server: encodes a result for the peer. */
  encodeResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): unknown;
  /** Client: decodes the peer's result. Throws `invalidAgentResponse`. */
  decodeResult<O extends UnaryOperation>(operation: O, raw: unknown): ResultOf<O>;

  /** One event of a stream, for the JSON-RPC `result` or the SSE `data`. */
  encodeEvent(event: StreamEvent): unknown;
  /** A faster way to the JSON text of an event. Undefined if there is none for this event. */
  eventText?(event: StreamEvent): string | undefined;
  decodeEvent(raw: unknown): StreamEvent;

  encodeCard(card: AgentCard): unknown;
  /** Throws `invalidAgentResponse`. */
  decodeCard(raw: unknown): AgentCard;

  /** The `error` member of a JSON-RPC response. */
  encodeError(error: A2AError): { code: number; message: string; data?: unknown };
  /** Decodes the `error` member of a JSON-RPC response, or a REST error body. `http` is the HTTP status, if known. */
  decodeError(raw: unknown, http?: number): A2AError;
}
