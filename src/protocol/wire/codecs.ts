import type { Binding } from '../card.ts';
import type { ProtocolVersion } from '../version.ts';
import type { WireCodec } from './codec.ts';
import { v03 } from './v03.ts';
import { v03Rest } from './v03-rest.ts';
import { v1 } from './v1.ts';

/**
 * Returns the codec for a version and a binding. In 1.0, all bindings use the same JSON. In 0.3, REST and gRPC use a
 * different format from JSON-RPC.
 */
export function codecOf(version: ProtocolVersion, binding: Binding): WireCodec {
  if (version === '1.0') return v1;
  return binding === 'JSONRPC' ? v03 : v03Rest;
}
